import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';

/** Every process that a test starts inherits this variable. */
const variable = 'MEMORYD_TEST_RUN';

/** How long processes that were told to stop may take. */
const patienceMs = 5_000;

/** Fails a run that leaves processes behind (on Linux, where they can be found). */
export default function setup(_project: TestProject): () => Promise<void> {
  const run = randomUUID();
  process.env[variable] = run;
  return async () => {
    let leaked = await processesOf(run);
    for (let waitedMs = 0; leaked.length > 0 && waitedMs < patienceMs; waitedMs += 100) {
      await sleep(100);
      leaked = await processesOf(run);
    }
    if (leaked.length === 0) return;
    console.error(`Tests left ${leaked.length} processes running:\n${leaked.join('\n')}`);
    process.exitCode = 1;
  };
}

/** `pid command` of each process of a run, without the test runner's own. */
async function processesOf(run: string): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => describeProcess(pid, run)));
  return found.filter((line) => line !== undefined);
}

async function describeProcess(pid: string, run: string): Promise<string | undefined> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
    const ownedByRunner = Number(pid) === process.pid || command === '' || command.includes('vitest');
    return environment.includes(`${variable}=${run}`) && !ownedByRunner ? `${pid} ${command}` : undefined;
  } catch {
    return undefined;
  }
}
