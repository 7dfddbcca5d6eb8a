import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { median, seconds, type Figure } from './report.ts';

const launcher = join(import.meta.dirname, '../bin/memoryd.js');
const key = 'key-of-the-benchmark';
const idleMs = 10_000;
const patienceMs = 60_000;
const tryEveryMs = 5;

interface Start {
  /** From the start of the process to the answer. */
  healthMs: number;
  searchMs: number;
  /** Resident, when the search is answered and after ten idle seconds. */
  searchedMb: number;
  idleMb: number;
}

/** The daemon as a user starts it, embedded store and default model: without data, and with those of the start before. */
export async function benchStartUp(times: number): Promise<Figure[]> {
  const [cold, warm]: [Start[], Start[]] = [[], []];
  for (let turn = 0; turn < times; turn++) {
    const dataDir = await mkdtemp(join(tmpdir(), 'memoryd-bench-'));
    try {
      cold.push(await measureStart(dataDir));
      warm.push(await measureStart(dataDir));
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  }
  return [...figuresOf('cold start', cold), ...figuresOf('warm start', warm)];
}

function figuresOf(name: string, starts: readonly Start[]): Figure[] {
  const middle = (field: keyof Start) => median(starts.map((start) => start[field]));
  const reported = { limit: null, ratio: null, better: 'smaller', target: null } as const;
  return [
    { name: `${name} to GET /health`, value: seconds(middle('healthMs')), ...reported },
    { name: `${name} to the first search`, value: seconds(middle('searchMs')), ...reported },
    { name: `memory after it, ${name}`, value: `${middle('searchedMb').toFixed(0)} MB`, ...reported },
    { name: `memory after 10 s idle, ${name}`, value: `${middle('idleMb').toFixed(0)} MB`, ...reported },
  ];
}

async function measureStart(dataDir: string): Promise<Start> {
  const port = await freePort();
  const args = ['start', '--port', String(port), '--data-dir', dataDir, '--log-level', 'error'];
  const started = performance.now();
  const child = spawn(process.execPath, [launcher, ...args], {
    env: { PATH: process.env['PATH'], MEMORYD_API_KEY: key },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  try {
    const url = `http://127.0.0.1:${port}`;
    await answered(`${url}/health`, () => child.exitCode !== null);
    const healthMs = performance.now() - started;
    await search(url);
    const searchMs = performance.now() - started;
    const searchedMb = await residentMb(child.pid!);
    await sleep(idleMs);
    return { healthMs, searchMs, searchedMb, idleMb: await residentMb(child.pid!) };
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answered(url: string, hasEnded: () => boolean): Promise<void> {
  const until = performance.now() + patienceMs;
  while (performance.now() < until && !hasEnded()) {
    const answer = await fetch(url).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
    await sleep(tryEveryMs);
  }
  throw new Error(hasEnded() ? 'The daemon ended.' : `The daemon did not answer within ${patienceMs} ms.`);
}

async function search(url: string): Promise<void> {
  const answer = await fetch(`${url}/v4/search`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ q: 'when does the team meet?', searchMode: 'documents' }),
  });
  if (!answer.ok) throw new Error(`The first search was answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return (Number(stdout) * 1_024) / 1e6;
}
