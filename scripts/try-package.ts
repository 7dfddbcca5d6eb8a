/**
 * Installs the package that `npm run build` made into an empty folder, as a user would, and tries it:
 * the program starts, the model is found, the console opens, and what is written is found again. Threads, migrations and
 * the model are read from other places than in a clone, which no other test sees. Throws what fails.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nativePlatforms } from './bundle-packages.ts';
import packageJson from '../package.json' with { type: 'json' };

const project = fileURLToPath(new URL('../', import.meta.url));
const apiKey = 'a key for trying the package';
const patienceMs = 60_000;
const mostMegabytes = 200;

/** The environment of a user: no settings of ours, and the Node that runs this first in the path. */
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MEMORYD_|DATABASE_URL|REDIS_URL)/.test(name)),
  ),
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  MEMORYD_API_KEY: apiKey,
};

function run(folder: string, program: string, ...parameters: string[]): string {
  return execFileSync(program, parameters, { cwd: folder, env: environment, encoding: 'utf8' });
}

function install(folder: string): string {
  run(project, 'npm', 'pack', './dist', '--pack-destination', folder, '--loglevel=error');
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new Error('npm pack made no archive.');
  const app = join(folder, 'app');
  mkdirSync(app);
  run(
    app,
    'npm',
    'install',
    '--prefix',
    app,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    join(folder, archive),
  );
  return app;
}

function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (actual !== expected) throw new Error(`${what} is ${String(actual)}, not ${String(expected)}.`);
}

/** The package brings the native library for this platform, and uses it, without any install script. */
function expectNative(report: string): void {
  if (!nativePlatforms.includes(`${process.platform}/${process.arch}`)) return;
  const runtime = /runtime\s+(\S+)/.exec(report)?.[1];
  expectEqual(runtime, 'onnxruntime-node', 'What models run on');
}

/** All that the package exports has types that a strict compiler takes, without packages that only we have. */
function expectTypes(app: string): void {
  const user = `
    import { createApp } from 'memoryd';
    import { defineConnector } from 'memoryd/connector';
    import { testConnector } from 'memoryd/testing';
    export { createApp, defineConnector, testConnector };`;
  writeFileSync(join(app, 'user.ts'), user);
  const compiler = join(project, 'node_modules/typescript/bin/tsc');
  const types = ['--typeRoots', join(project, 'node_modules/@types'), '--types', 'node'];
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', ...types];
  run(app, process.execPath, compiler, ...options, 'user.ts');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Of all files below it. */
function megabytesOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map((file) => statSync(join(file.parentPath, file.name)).size);
  return Math.round(bytes.reduce((sum, size) => sum + size, 0) / 1_000_000);
}

/** Asks until the answer is true. */
async function until(what: string, ask: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += 100) {
    if (await ask().catch(() => false)) return;
    await sleep(100);
  }
  throw new Error(`${what} did not happen within ${patienceMs / 1000} s.`);
}

async function writeAndFind(url: string): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as { id?: string; results?: unknown[] };
  };
  const content = 'The spare key to the boat house hangs behind the blue kettle.';
  const { id } = await post('/v3/documents', { content, containerTag: 'trial' });
  await until('The processing of a document', async () => {
    const response = await fetch(`${url}/v3/documents/${id}`, { headers });
    return ((await response.json()) as { status?: string }).status === 'done';
  });
  const { results } = await post('/v4/search', { q: 'where is the key?', containerTag: 'trial', searchMode: 'hybrid' });
  expectEqual(results?.length, 1, 'The number of results');
}

/** The page of the console comes from the package, with what it loads. */
async function openConsole(url: string): Promise<void> {
  const page = await fetch(url, { headers: { accept: 'text/html' } });
  expectEqual(page.headers.get('content-type'), 'text/html; charset=utf-8', 'The type of the page');
  const parts = [...(await page.text()).matchAll(/(?:src|href)="([^":]*assets\/[^"]+)"/g)].map(([, path]) => path!);
  expectEqual(parts.length > 1, true, 'Whether the page loads scripts and styles');
  for (const path of parts) expectEqual((await fetch(new URL(path, url))).status, 200, `The status of ${path}`);
}

async function stop(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null) throw new Error(`The daemon ended by itself with ${daemon.exitCode}.`);
  const ended = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  await ended;
  expectEqual(daemon.exitCode, 0, 'The exit code after SIGTERM');
}

async function tryDaemon(app: string): Promise<void> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = join(app, 'node_modules/.bin/memoryd');
  const parameters = ['start', '--port', String(port), '--data-dir', join(app, 'data')];
  const daemon = spawn(program, parameters, { cwd: app, env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    await until('The start', async () => (await fetch(`${url}/ready`)).ok);
    await openConsole(url);
    await writeAndFind(url);
    await stop(daemon);
  } finally {
    daemon.kill('SIGKILL');
  }
}

const folder = mkdtempSync(join(tmpdir(), 'memoryd-package-'));
try {
  const app = install(folder);
  const program = join(app, 'node_modules/.bin/memoryd');
  expectEqual(run(app, program, '--version').trim(), packageJson.version, 'The version');
  expectNative(run(app, program, 'models', 'verify'));
  const script = `import { contractVersion } from 'memoryd/connector'; console.log(contractVersion);`;
  expectEqual(run(app, process.execPath, '--input-type=module', '--eval', script).trim(), '1', 'The contract');
  const kit = `import { testConnector } from 'memoryd/testing'; console.log(typeof testConnector);`;
  expectEqual(
    run(app, process.execPath, '--input-type=module', '--eval', kit).trim(),
    'function',
    'The acceptance kit',
  );
  expectTypes(app);
  run(app, program, 'connector', 'new', 'acme');
  expectEqual(existsSync(join(app, 'memoryd-connector-acme/src/connector.ts')), true, 'A new connector');
  // With what the first use has unpacked.
  const size = megabytesOf(join(app, 'node_modules'));
  if (size > mostMegabytes) throw new Error(`An installation takes ${size} MB, more than ${mostMegabytes}.`);
  await tryDaemon(app);
  console.log(`An installation takes ${size} MB. The package installs, starts, and finds what is written.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
