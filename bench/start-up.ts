import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
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

/** What is promised. */
const targets = { cold: { searchMs: 2_500, idleMb: 300 }, warm: { searchMs: 1_500, idleMb: 300 } };

/**
 * The daemon as a user starts it, embedded store and default model: without data, and with those of the start before.
 * Beside it PGlite alone, which makes a cluster and opens it again.
 */
export async function benchStartUp(times: number): Promise<Figure[]> {
  const [cold, warm]: [Start[], Start[]] = [[], []];
  const [made, opened]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < times; turn++) {
    const folder = await mkdtemp(join(tmpdir(), 'memoryd-bench-'));
    try {
      cold.push(await measureStart(join(folder, 'data')));
      warm.push(await measureStart(join(folder, 'data')));
      made.push(await measureBareStart(join(folder, 'bare')));
      opened.push(await measureBareStart(join(folder, 'bare')));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return [
    ...figuresOf('cold start', cold, targets.cold),
    ...figuresOf('warm start', warm, targets.warm),
    { name: 'PGlite alone makes a cluster', value: spread(made, seconds), ...reported },
    { name: 'PGlite alone opens it', value: spread(opened, seconds), ...reported },
  ];
}

const reported = { limit: null, ratio: null, better: 'smaller', target: null } as const;

function figuresOf(name: string, starts: readonly Start[], target: { searchMs: number; idleMb: number }): Figure[] {
  const valuesOf = (field: keyof Start) => starts.map((start) => start[field]);
  const promised = (field: keyof typeof target, text: (value: number) => string): Omit<Figure, 'name'> => ({
    value: spread(valuesOf(field), text),
    limit: `promised: ${text(target[field])}`,
    ratio: median(valuesOf(field)) / target[field],
    better: 'smaller',
    target: 1,
  });
  return [
    { name: `${name} to GET /health`, value: spread(valuesOf('healthMs'), seconds), ...reported },
    { name: `${name} to the first search`, ...promised('searchMs', seconds) },
    { name: `memory after it, ${name}`, value: spread(valuesOf('searchedMb'), megabytes), ...reported },
    { name: `memory after 10 s idle, ${name}`, ...promised('idleMb', megabytes) },
  ];
}

const megabytes = (value: number): string => `${value.toFixed(0)} MB`;

/** The median, with the least and the most. */
function spread(values: readonly number[], text: (value: number) => string): string {
  return `${text(median(values))} (${text(Math.min(...values))} to ${text(Math.max(...values))})`;
}

/** Node and PGlite with pgvector, to the answer of one statement. */
async function measureBareStart(folder: string): Promise<number> {
  const program = `
    import { PGlite } from '@electric-sql/pglite';
    import { vector } from '@electric-sql/pglite-pgvector';
    const database = await PGlite.create({ dataDir: process.argv[1], extensions: { vector } });
    await database.query('select 1');
    console.log('answered');
    await database.close();`;
  const started = performance.now();
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, folder], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  const answeredMs = performance.now() - started;
  await ended;
  return answeredMs;
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
