import { execFile } from 'node:child_process';
import { copyFile, lstat, mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const launcher = join(import.meta.dirname, '../../bin/memoryd.js');

describe('a clone', () => {
  let clone: string;
  beforeEach(async () => {
    clone = await temporaryFolder('memoryd-clone-');
    const files = {
      'src/main.ts': `console.log('source');`,
      'src/store/migrations/0001.sql': 'select 1',
      'connectors/acme/index.ts': '',
      'console/dist/index.html': '',
      'package.json': '{ "type": "module" }',
      'node_modules/.package-lock.json': '{}',
      'node_modules/.cache/memoryd/program/src/main.js': `console.log('program');`,
    };
    for (const [path, text] of Object.entries(files)) await write(path, text);
    await mkdir(join(clone, 'bin'));
    await copyFile(launcher, join(clone, 'bin/memoryd.js'));
    await madeAt(Date.now() + 1_000);
  });
  afterEach(() => rm(clone, { recursive: true }));

  async function write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(clone, path)), { recursive: true });
    await writeFile(join(clone, path), text);
  }
  const madeAt = (time: number) => write('node_modules/.cache/memoryd/program/read-at.json', JSON.stringify(time));
  /** What is written from now on is later than the program: the clock of files lags behind by some milliseconds. */
  async function madeNow(): Promise<void> {
    const now = Date.now();
    await madeAt(now);
    do await write('scratch', '');
    while ((await lstat(join(clone, 'scratch'))).ctimeMs < now);
  }
  const runs = async (env: object = {}) => {
    const started = promisify(execFile)(process.execPath, [join(clone, 'bin/memoryd.js'), 'status'], {
      env: { PATH: process.env['PATH'], ...env },
    });
    return (await started).stdout.trim();
  };

  it('runs the program that was made of its sources', async () => {
    expect(await runs()).toBe('program');
  });

  it.each(['src/main.ts', 'src/store/migrations/0001.sql', 'connectors/acme/index.ts', 'console/dist/index.html'])(
    'runs its sources when %s has changed since',
    async (path) => {
      await madeNow();
      // Also an editor or a tool that sets times back changes it.
      await write(path, await readFile(join(clone, path), 'utf8'));
      await utimes(join(clone, path), 0, 0);
      expect(await runs()).toBe('source');
    },
  );

  it('runs its sources when a file was deleted or dependencies were installed since', async () => {
    await madeNow();
    await rm(join(clone, 'src/store/migrations/0001.sql'));
    expect(await runs()).toBe('source');
    await madeAt(Date.now() + 1_000);
    expect(await runs()).toBe('program');
    await madeNow();
    await write('node_modules/.package-lock.json', '{ }');
    expect(await runs()).toBe('source');
  });

  it('runs its sources while code is counted, and where no program was made', async () => {
    expect(await runs({ NODE_V8_COVERAGE: join(clone, 'coverage') })).toBe('source');
    await rm(join(clone, 'node_modules/.cache'), { recursive: true });
    expect(await runs()).toBe('source');
  });

  it('gives new connectors itself as their memoryd, whichever it runs', async () => {
    const folder = join(clone, 'memoryd-connector-acme');
    await promisify(execFile)(process.execPath, [launcher, 'connector', 'new', 'acme', '--into', folder]);
    const { devDependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    expect(join(folder, devDependencies.memoryd.replace('file:', ''), 'bin/memoryd.js')).toBe(launcher);
  });
});
