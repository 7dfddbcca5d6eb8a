#!/usr/bin/env node
// Starts memoryd with a Node that can run it. Written for old versions of Node too: no syntax newer
// than theirs, and nothing of ours is imported before the version is known.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { getHeapStatistics } from 'node:v8';

const packageFolder = dirname(dirname(fileURLToPath(import.meta.url)));
const needed = [22, 18];

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}

/** A clone brings its own Node as a development dependency. Nothing when that is the one that runs here. */
function ownNode() {
  const candidates = ['node_modules/.bin/node', 'node_modules/node/bin/node'];
  const found = candidates.map((path) => join(packageFolder, path)).find((path) => existsSync(path));
  return found && realpathSync(found) !== realpathSync(process.execPath) ? found : undefined;
}

function runWith(node) {
  const children = [];
  // Ctrl-C reaches the child from the terminal by itself; here it must only not end the parent first.
  process.on('SIGINT', () => {});
  // Before the child exists, so that no signal finds it running and this process without a handler.
  process.on('SIGTERM', () => children.forEach((started) => started.kill('SIGTERM')));
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  children.push(child);
  child.on('error', (error) => explain(error.message));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function explain(detail) {
  console.error(
    [
      `memoryd needs Node ${needed.join('.')} or newer; this is ${process.versions.node}.${detail ? ` (${detail})` : ''}`,
      'In a clone, `npm install` brings the right one: run `npm start`, or `npx memoryd …` for other commands.',
      'Elsewhere, install a newer Node from https://nodejs.org.',
    ].join('\n'),
  );
  process.exit(1);
}

/**
 * V8 keeps what it made of the code, so that a start need not compile two thousand files again. In the cache of the
 * user, because what lies there is run. Threads and the daemon that this process becomes find it by the variable.
 */
function keepCompiledCode() {
  const { env } = process;
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const caches = env.XDG_CACHE_HOME || env.LOCALAPPDATA || join(homedir(), '.cache');
    const folder = join(caches, 'memoryd', 'code');
    if (module.enableCompileCache(folder).directory !== undefined) env.NODE_COMPILE_CACHE = folder;
  } catch {
    // A user without a home has no cache, and starts more slowly.
  }
}

/** A clone runs the program that was made of its sources, and they themselves when one has changed since. */
function run() {
  const source = join(packageFolder, 'src/main.ts');
  const main = existsSync(source) ? (isUpToDate() ? join(program, 'src/main.js') : source) : 'src/main.js';
  return import(pathToFileURL(resolve(packageFolder, main)).href);
}

const program = join(packageFolder, 'node_modules/.cache/memoryd/program');
const madeOf = ['bin', 'src', 'connectors', 'console/dist', 'package.json', 'node_modules/.package-lock.json'];

/** What watches or counts the code of a process wants the sources. Made anew by `npm run prepare`. */
function isUpToDate() {
  if (isWatched() || process.env.NODE_V8_COVERAGE) return false;
  try {
    const readAt = JSON.parse(readFileSync(join(program, 'read-at.json'), 'utf8'));
    return madeOf.every((path) => changedAt(join(packageFolder, path)) < readAt);
  } catch {
    // It was not made, or is being made.
    return false;
  }
}

/** When a file, or a folder with all that is in it, was changed last. */
function changedAt(path) {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.ctimeMs;
  return Math.max(stats.ctimeMs, ...readdirSync(path).map((name) => changedAt(join(path, name))));
}

/**
 * glibc keeps a pool of memory for each of a daemon's many threads and gives back only its end, and of blocks above a
 * threshold each; V8 fills 96 MB with new objects before it looks which are still needed. With these a daemon takes
 * 200 MB less. They count only when a process starts, so this one becomes another program, with the same id, streams
 * and directory.
 *
 * Where V8 may take 2 GB or more, it lets the heap grow to four times what is needed between two looks, and below that
 * to less than twice. No daemon needs so much.
 */
const frugal = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

/** By another Node, with which the process talks over a channel. */
function isWatched() {
  return process.connected || 'WATCH_REPORT_DEPENDENCIES' in process.env;
}

function startFrugally() {
  const isSet = Object.keys(frugal).some((name) => name in process.env);
  // The channel would be lost.
  if (process.argv[2] !== 'start' || process.platform !== 'linux' || isSet || isWatched() || !process.execve) return;
  const limitMb = Math.min(1_024, Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20));
  const isLimitGiven = `${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS}`.includes('max-old-space-size');
  const flags = [
    '--max-semi-space-size=8',
    ...(isLimitGiven ? [] : [`--max-old-space-size=${limitMb}`]),
    ...process.execArgv,
  ];
  process.execve(process.execPath, [process.execPath, ...flags, ...process.argv.slice(1)], {
    ...process.env,
    ...frugal,
  });
}

if (isRecent(process.versions.node)) {
  keepCompiledCode();
  startFrugally();
  await run();
} else if (ownNode()) runWith(ownNode());
else explain();
