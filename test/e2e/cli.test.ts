import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { writeDaemonFile } from '../../src/cli/daemon-file.ts';
import { goodKey, startApiStandIn, type ApiStandIn } from '../support/api-stand-in.ts';

const launcher = join(import.meta.dirname, '../../bin/memoryd.js');

let api: ApiStandIn;
let folder: string;
beforeAll(async () => {
  api = await startApiStandIn();
});
afterAll(() => api.close());
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'memoryd-e2e-')));
});
afterEach(() => {
  api.requests.length = 0;
  rmSync(folder, { recursive: true, force: true });
});

interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  script?: string;
  nodeOptions?: string[];
  onStart?(child: ChildProcess): void;
}

interface Finished {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** The real program in a process of its own, with nothing in its environment but what is given. */
async function memoryd(args: string[], options: RunOptions = {}): Promise<Finished> {
  const { env = {}, nodeOptions = [], script = launcher } = options;
  const child = spawn(process.execPath, [...nodeOptions, script, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output.stdout += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (output.stderr += part));
  child.stdin.end(options.input ?? '');
  options.onStart?.(child);
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { exitCode, ...output };
}

const access = () => ({ MEMORYD_URL: api.url, MEMORYD_API_KEY: goodKey });
const found = {
  results: [{ id: 'c1', chunk: 'Keys are rotated.', similarity: 0.9, metadata: null, updatedAt: '', filepath: 'k.md' }],
  total: 1,
  timing: 7,
};

describe('compiled code', () => {
  test('is kept in the cache of the user', async () => {
    await memoryd(['--version'], { env: { XDG_CACHE_HOME: folder } });
    const kept = readdirSync(join(folder, 'memoryd/code'), { recursive: true, withFileTypes: true });
    expect(kept.filter((entry) => entry.isFile()).length).toBeGreaterThan(10);
  });

  test('is not kept where nothing can be written', async () => {
    writeFileSync(join(folder, 'file'), '');
    const { exitCode, stderr } = await memoryd(['--version'], { env: { XDG_CACHE_HOME: join(folder, 'file') } });
    expect([exitCode, stderr]).toEqual([0, '']);
  });
});

describe('exit codes', () => {
  beforeAll(() => {
    api.on('POST /v4/search', ({ body }) => (body.q === 'boom' ? [500, { error: 'Internal server error' }] : found));
  });

  test('0: JSON is the only thing on stdout', async () => {
    const result = await memoryd(['search', 'rotate', 'keys', '--json'], { env: access() });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(result.stdout)).toEqual(found);
  });

  test('1: a port in use is said before anything is opened', async () => {
    const { hostname, port } = new URL(api.url);
    const dataDir = join(folder, 'data');
    const { exitCode, stderr } = await memoryd(['start', '--host', hostname, '--port', port, '--data-dir', dataDir]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`Port ${port} on ${hostname} is in use.`)]);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('2: an address that is not one of the machine is said before anything is opened', async () => {
    const dataDir = join(folder, 'data');
    const { exitCode, stderr } = await memoryd(['start', '--host', '192.0.2.1', '--data-dir', dataDir]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('cannot listen on the host 192.0.2.1: choose one')]);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('1: failure', async () => {
    const result = await memoryd(['search', 'boom', '--json'], { env: access() });
    expect(result.exitCode).toBe(1);
    expect(JSON.parse(result.stdout)).toEqual({ error: 'Internal server error (500 to POST /v4/search)' });
    expect(result.stderr).toContain('memoryd: Internal server error');
  });

  test('2: usage', async () => {
    expect(await memoryd(['serach'])).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('(Did you mean search?)'),
    });
    expect(await memoryd(['config'], { env: { MEMORYD_PROT: '1' } })).toMatchObject({ exitCode: 2 });
    expect(await memoryd(['start', 'missing'])).toMatchObject({ exitCode: 2 });
  });

  test('3: no daemon', async () => {
    const result = await memoryd(['search', 'x']);
    expect(result).toMatchObject({ exitCode: 3, stdout: '' });
    expect(result.stderr).toContain(`No daemon runs with the data directory ${folder}/.memoryd.`);
  });

  test('4: wrong key', async () => {
    const env = { ...access(), MEMORYD_API_KEY: 'wrong' };
    expect(await memoryd(['search', 'x'], { env })).toMatchObject({ exitCode: 4 });
  });

  test('130: Ctrl-C while waiting leaves the sync running', async () => {
    const run = { id: 'R1', status: 'running', itemsSeen: 3, itemsTotal: null, error: null };
    const connection = { id: 'C1', provider: 'folder', status: 'active', containerTag: 't', documentCount: 0 };
    let child: ChildProcess;
    api.on('POST /v3/connections/list', () => [connection]);
    api.on('POST /v3/connections/C1/sync', () => [202, run]);
    api.on('GET /v3/connections/C1/progress', () => {
      child.kill('SIGINT');
      return { run, items: { pending: 1, failed: 0 }, documents: { waiting: 0, done: 0, failed: 0 }, heldDeletes: 0 };
    });
    const result = await memoryd(['sync', '--wait'], { env: access(), onStart: (started) => (child = started) });
    expect(result.exitCode).toBe(130);
    expect(result.stderr).toContain('The sync continues in the daemon.');
  });
});

describe('the daemon of this machine', () => {
  test('is found by its data directory, without a key', async () => {
    api.on('POST /v4/search', () => found);
    const file = { url: api.url, pid: process.pid, token: goodKey, startedAt: '2026-03-01T09:00:00.000Z' };
    await writeDaemonFile(join(folder, '.memoryd'), file);
    expect(await memoryd(['search', 'keys'])).toEqual({
      exitCode: 0,
      stdout: '1.  0.90  k.md\n    Keys are rotated.\n',
      stderr: '\n1 result in 7 ms\n',
    });
  });
});

describe('streams', () => {
  test('colours follow NO_COLOR and FORCE_COLOR, and are off in a pipe', async () => {
    api.on('POST /v4/search', () => found);
    const colored = (env: object) => memoryd(['search', 'keys'], { env: { ...access(), ...env } });
    expect((await colored({ FORCE_COLOR: '1' })).stdout).toContain('\u001b[');
    expect((await colored({})).stdout).not.toContain('\u001b[');
    expect((await colored({ NO_COLOR: '1' })).stdout).not.toContain('\u001b[');
  });

  test('the standard input is read to its end', async () => {
    api.on('POST /v3/documents', () => ({ id: 'D1', status: 'queued' }));
    const input = 'line\n'.repeat(50_000);
    expect(await memoryd(['add', '-'], { env: access(), input })).toMatchObject({ exitCode: 0, stdout: 'D1 queued\n' });
    expect(api.requests[0]!.body).toEqual({ content: input });
  });

  test('a reader that goes away is no failure', async () => {
    const result = await memoryd(['--help'], { onStart: (child) => child.stdout!.destroy() });
    expect(result).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });
});

test('secrets are in no output of config', async () => {
  const env = {
    MEMORYD_API_KEY: 'canary-1',
    DATABASE_URL: 'postgresql://u:canary-2@db/x',
    ENCRYPTION_KEY: `canary+3${'x'.repeat(35)}=`,
  };
  for (const args of [['config'], ['config', '--json']]) {
    const result = await memoryd(args, { env });
    expect(result.exitCode).toBe(0);
    expect(result.stdout + result.stderr).not.toContain('canary');
  }
});

describe('the launcher', () => {
  /** Says that it is an older Node than it is. */
  const oldNode = [
    '--import',
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.19.0'}})",
  ];

  /** A package of its own around the launcher. */
  function packageWith(files: Record<string, string>): string {
    cpSync(launcher, join(folder, 'bin/memoryd.js'));
    for (const [path, content] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), content);
      chmodSync(join(folder, path), 0o755);
    }
    return join(folder, 'bin/memoryd.js');
  }

  test('runs TypeScript in a clone and JavaScript when published', async () => {
    const script = packageWith({ 'src/main.js': 'console.log("published", process.argv.slice(2))' });
    expect((await memoryd(['a b'], { script })).stdout).toBe("published [ 'a b' ]\n");
    packageWith({ 'src/main.ts': 'console.log("clone" as string)' });
    expect((await memoryd([], { script })).stdout).toBe('clone\n');
  });

  test('explains which Node it needs when that is too old', async () => {
    const script = packageWith({ 'src/main.js': 'console.log("must not run")' });
    const result = await memoryd([], { script, nodeOptions: oldNode });
    expect(result).toMatchObject({ exitCode: 1, stdout: '' });
    expect(result.stderr).toContain('memoryd needs Node 22.18 or newer; this is 20.19.0.');
    expect(result.stderr).toContain('`npm start`');
  });

  test('uses the Node that a clone brings when the one that runs is too old', async () => {
    const script = packageWith({ 'node_modules/.bin/node': '#!/bin/sh\necho "own node: $2"\nexit 7\n' });
    const result = await memoryd(['search'], { script, nodeOptions: oldNode });
    expect(result).toEqual({ exitCode: 7, stdout: 'own node: search\n', stderr: '' });
  });

  test('hands SIGTERM on to that Node', async () => {
    const own = '#!/bin/sh\ntrap "echo ended; exit 5" TERM\necho ready >&2\nfor _ in $(seq 40); do sleep 0.1; done\n';
    const script = packageWith({ 'node_modules/.bin/node': own });
    const result = await memoryd([], {
      script,
      nodeOptions: oldNode,
      onStart: (child) => child.stderr!.once('data', () => child.kill('SIGTERM')),
    });
    expect(result).toEqual({ exitCode: 5, stdout: 'ended\n', stderr: 'ready\n' });
  });
});
