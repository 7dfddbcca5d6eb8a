import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** A daemon without insides: it starts at once, and on port 1 it runs a model and closes only after a minute. */
const app = `
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { findModelFolder } from './models/minilm/files.ts';

/** A thread that makes the vectors of many long texts. */
async function runModel() {
  const source = { kind: 'minilm', folder: findModelFolder(), arithmetic: ['u8s8', 'u8u8'] };
  const url = new URL('./models/worker/model-worker.ts', import.meta.url);
  const worker = new Worker(url, { workerData: { source, runtime: 'auto' } });
  await once(worker, 'message');
  const tokens = Int32Array.from({ length: 250 }, (_, index) => 1_000 + index);
  worker.postMessage({ type: 'run', sequences: Array.from({ length: 10_000 }, () => tokens) });
}

export async function createApp({ config }) {
  mkdirSync(config.dataDir, { recursive: true });
  if (config.port === 1) await runModel();
  const busy = setInterval(() => {}, 1000);
  return {
    url: 'http://127.0.0.1:1', firstKey: null, localToken: 'token', connections: {}, start: async () => {},
    consoleLink: async () => 'http://127.0.0.1:1/#/sign-in/token',
    async close() {
      console.error('closing');
      const lateMs = config.port === 1 ? 60_000 : 0;
      setTimeout(() => console.error('still closing'), 600).unref();
      await new Promise((resolve) => setTimeout(resolve, lateMs));
      clearInterval(busy);
    },
  };
}`;

let folder: string;
let child: ChildProcessWithoutNullStreams;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-interrupt-'));
  mkdirSync(join(folder, 'src'));
  cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  cpSync(join(root, 'src/main.ts'), join(folder, 'src/main.ts'));
  for (const part of ['base', 'cli', 'models']) symlinkSync(join(root, 'src', part), join(folder, 'src', part));
  writeFileSync(join(folder, 'src/app.ts'), app);
  writeFileSync(join(folder, 'src/opening.ts'), 'export const startOpening = async () => {};');
});
afterEach(() => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Running {
  /** Calls back once, when the program has printed the text. */
  when(text: string, then: () => void): void;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>;
}

function start(...options: string[]): Running {
  child = spawn(process.execPath, [join(folder, 'bin/memoryd.js'), 'start', ...options], {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
  });
  const output = { stdout: '', stderr: '' };
  let waiting: { text: string; then: () => void }[] = [];
  const keep = (name: 'stdout' | 'stderr') => (part: string) => {
    output[name] += part;
    const due = waiting.filter(({ text }) => output[name].includes(text));
    waiting = waiting.filter((each) => !due.includes(each));
    for (const { then } of due) then();
  };
  child.stdout.setEncoding('utf8').on('data', keep('stdout'));
  child.stderr.setEncoding('utf8').on('data', keep('stderr'));
  return {
    when: (text, then) => void waiting.push({ text, then }),
    ended: new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, ...output }))),
  };
}

const daemonFile = () => join(folder, '.memoryd/daemon.json');

test.each(['SIGINT', 'SIGTERM'] as const)('%s stops the daemon cleanly', async (signal) => {
  const daemon = start();
  let announced: unknown;
  daemon.when('Press Ctrl-C', () => {
    announced = JSON.parse(readFileSync(daemonFile(), 'utf8'));
    child.kill(signal);
  });
  const { code, stderr } = await daemon.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Stopping. Press Ctrl-C again to stop at once.\nclosing\n' });
  expect(announced).toMatchObject({ pid: child.pid, token: 'token' });
  expect(existsSync(daemonFile())).toBe(false);
});

test('a second Ctrl-C ends it at once, also while it runs a model, but not the copy of the first one that npm sends', async () => {
  const daemon = start('--port', '1');
  daemon.when('Press Ctrl-C', () => child.kill('SIGINT'));
  daemon.when('closing', () => child.kill('SIGINT'));
  daemon.when('still closing', () => child.kill('SIGINT'));
  const { signal, stderr } = await daemon.ended;
  expect(signal).toBe('SIGINT');
  expect(stderr.trimEnd().endsWith('still closing')).toBe(true);
});
