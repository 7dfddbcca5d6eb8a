import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import {
  lockDirectory,
  type DirectoryLock,
  ownIdentity,
  type ProcessIdentity,
} from '../../src/store/pglite/directory-lock.ts';

let folder: string;
let path: string;
let held: DirectoryLock[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memoryd-lock-'));
  path = join(folder, 'database.lock');
});
afterEach(async () => {
  await Promise.all(held.map((lock) => lock.release()));
  held = [];
  await rm(folder, { recursive: true });
});

/** Waits are over at once; `onWait` is what happens elsewhere meanwhile. */
function hastyClock(onWait: () => Promise<void> = async () => undefined): Clock & { beats: number } {
  const clock = {
    beats: 0,
    now: () => systemClock.now(),
    async sleep(_ms: number, signal?: AbortSignal) {
      // With a signal it is the heartbeat's wait, else the watch over a holder elsewhere.
      if (signal === undefined) return onWait();
      clock.beats++;
      await systemClock.sleep(5, signal);
    },
  };
  return clock;
}

async function lock(clock: Clock = systemClock): Promise<DirectoryLock> {
  const taken = await lockDirectory(path, clock);
  held.push(taken);
  return taken;
}

const writeHolder = (holder: Partial<ProcessIdentity>, token = 'theirs') =>
  writeFile(path, JSON.stringify({ ...ownIdentity(), ...holder, token }));
const ownerOf = async () => JSON.parse(await readFile(path, 'utf8')) as ProcessIdentity & { token: string };
const elsewhere = { host: 'other-host', machine: 'other-host other-boot' };

/** The number of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

test('a free directory is locked for this process, and free again after release', async () => {
  const taken = await lock();
  expect(await ownerOf()).toMatchObject({ pid: process.pid, host: ownIdentity().host });
  expect((await stat(path)).mode & 0o077).toBe(0);
  await taken.release();
  expect(await readdir(folder)).toEqual([]);
});

test.each<[string, () => Partial<ProcessIdentity>]>([
  ['a process that has ended', () => ({ pid: deadPid() })],
  ['a process whose number another one has now', () => ({ startedAt: 'long ago' })],
])('the lock of %s is taken over without waiting', async (_name, holder) => {
  await writeHolder(holder());
  const clock = hastyClock(() => Promise.reject(new Error('It waited.')));
  await lock(clock);
  expect((await ownerOf()).token).not.toBe('theirs');
  expect(await readdir(folder)).toEqual(['database.lock']);
});

describe('a holder elsewhere (another machine or container)', () => {
  test('that touches its file keeps it', async () => {
    await writeHolder({ pid: 77, ...elsewhere });
    const touch = () => utimes(path, 1_000, 1_000);
    await expect(lock(hastyClock(touch))).rejects.toMatchObject({
      code: 'data_dir_locked',
      message: expect.stringContaining('Process 77 on host other-host'),
    });
    expect((await ownerOf()).token).toBe('theirs');
  });

  test('that is silent has lost it', async () => {
    await writeHolder({ pid: process.pid, ...elsewhere });
    await lock(hastyClock());
    expect((await ownerOf()).token).not.toBe('theirs');
  });

  test('that gave it up meanwhile is no obstacle', async () => {
    await writeHolder(elsewhere);
    await lock(hastyClock(() => rm(path, { force: true })));
    expect((await ownerOf()).pid).toBe(process.pid);
  });
});

test.each(['', 'not json', '{}'])(
  'a file that says nothing (%j) belongs to a silent holder elsewhere',
  async (text) => {
    await writeFile(path, text);
    await lock(hastyClock());
    expect((await ownerOf()).pid).toBe(process.pid);
  },
);

test('of many who find a dead holder, one gets the lock', async () => {
  const pid = deadPid();
  for (let round = 0; round < 20; round++) {
    await writeHolder({ pid }, `dead-${round}`);
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(path, systemClock)));
    const winners = results.filter((result) => result.status === 'fulfilled').map((result) => result.value);
    expect(winners).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'data_dir_locked' });
    }
    await winners[0]!.release();
  }
  expect(await readdir(folder)).toEqual([]);
});

test('a taker killed in the middle of taking over does not block the lock', async () => {
  await writeHolder({ pid: deadPid() });
  const right = `${path}.stale-theirs`;
  await writeFile(right, '');
  await utimes(right, 1_000, 1_000);
  await lock();
  expect(await readdir(folder)).toEqual(['database.lock']);
});

test('drafts of dead processes are removed, those of the living stay', async () => {
  await writeFile(`${path}.dead`, JSON.stringify({ ...ownIdentity(), pid: deadPid() }));
  await writeFile(`${path}.living`, JSON.stringify(ownIdentity()));
  await lock();
  expect((await readdir(folder)).toSorted()).toEqual(['database.lock', 'database.lock.living']);
});

describe('heartbeat', () => {
  test('notices that somebody else took the lock over, and leaves it to them', async () => {
    const taken = await lock(hastyClock());
    await writeHolder(elsewhere);
    await expect.poll(() => taken.lost.aborted).toBe(true);
    await taken.release();
    expect((await ownerOf()).token).toBe('theirs');
  });

  test('makes a deleted file again, and touches it', async () => {
    const taken = await lock(hastyClock());
    await rm(path);
    await expect
      .poll(() =>
        ownerOf()
          .then((owner) => owner.pid)
          .catch(() => null),
      )
      .toBe(process.pid);
    await utimes(path, 1_000, 1_000);
    await expect.poll(async () => (await stat(path)).mtimeMs).toBeGreaterThan(1_000_000);
    expect(taken.lost.aborted).toBe(false);
  });
});
