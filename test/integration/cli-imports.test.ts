import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = join(import.meta.dirname, '../../src/main.ts');

/** Runs before the program: prints, when it ends, the packages of which something was loaded. */
const watcher = `
import { registerHooks } from 'node:module';
const packages = new Set();
registerHooks({
  load(url, context, next) {
    const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (name) packages.add(name);
    return next(url, context);
  },
});
process.on('exit', () => console.log(JSON.stringify([...packages].sort())));`;

it('a command loads no more than it needs, because everybody waits for that', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(watcher)}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', hook, program, '--version']);
  expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toEqual(['commander', 'jsonc-parser', 'typebox']);
});
