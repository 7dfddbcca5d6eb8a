import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { sized } from '../support/length.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { call, storedFiles } from '../support/memory-of.ts';
import { stores, type OpenedStore } from '../support/stores.ts';

const fileCount = 250;

/** Numbers that look random and are the same in each run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

describe.each(stores)('a daemon that is killed again and again on $name', (store) => {
  let folder: string;
  let daemon: Daemon | undefined;
  let opened: OpenedStore;
  afterEach(async () => {
    await daemon?.kill();
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });

  // A dead worker's leases on a server last up to half a minute, so that most kills there hit a daemon that waits.
  const kills = store.name === 'the embedded store' ? sized(6, 20) : sized(2, 6);

  it(`ends after ${kills} kills with memory equal to the folder`, { timeout: 400_000 }, async () => {
    const random = createRandom(20_261_121);
    folder = await temporaryFolder('memoryd-kill-');
    opened = await store.open();
    const dataDir = await temporaryFolder();
    const pathOf = (index: number) => join(folder, `group-${index % 7}`, `note-${index}.md`);
    const put = async (index: number, version: number) => {
      await mkdir(dirname(pathOf(index)), { recursive: true });
      await writeFile(
        pathOf(index),
        `# Note ${index}\n\n${`This is version ${version} of note ${index}. `.repeat(20)}\n`,
      );
    };
    for (let index = 0; index < fileCount; index++) await put(index, 0);

    const change = async (version: number) => {
      for (let count = 0; count < 12; count++) await put(random(fileCount), version);
      await rm(pathOf(random(fileCount)), { force: true });
      const target = `${pathOf(random(fileCount))}.moved.md`;
      await rename(pathOf(random(fileCount)), target).catch(() => {});
    };
    const start = () =>
      startDaemon({
        dataDir,
        args: [folder],
        env: { ...opened.env, MEMORYD_EMBEDDER_KIND: 'hashing' },
      });

    for (let kill = 1; kill <= kills; kill++) {
      daemon = await start();
      await pause(random(900));
      await change(kill);
      await pause(random(300));
      await daemon.kill();
    }
    daemon = await start();
    const running = daemon;
    await expect
      .poll(async () => difference(await diskTexts(folder), await memoryTexts(running)), {
        timeout: 150_000,
        interval: 500,
      })
      .toEqual([]);
    const chunks = await call(running, 'POST', '/v4/search', {
      q: 'note',
      searchMode: 'documents',
      threshold: 0,
      limit: 100,
    });
    expect(chunks.results.length).toBeGreaterThan(0);
    expect(await running.stop()).toBe(0);
    daemon = undefined;
    await rm(dataDir, { recursive: true, force: true });
  });
});

async function diskTexts(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      files.map(async (file) => [file.slice(folder.length + 1), await readFile(file, 'utf8')] as const),
    ),
  );
}

async function memoryTexts(daemon: Daemon): Promise<Map<string, string>> {
  const files = await storedFiles(daemon);
  return new Map([...files].map(([path, file]) => [path, file.status === 'done' ? file.content : `(${file.status})`]));
}

/** Paths whose text differs, with what each side has of it. */
function difference(disk: Map<string, string>, memory: Map<string, string>): string[] {
  const paths = new Set([...disk.keys(), ...memory.keys()]);
  return [...paths].flatMap((path) => {
    const onDisk = disk.get(path)?.trim();
    const inMemory = memory.get(path)?.trim();
    return onDisk === inMemory
      ? []
      : [`${path}: ${(onDisk ?? 'absent').slice(0, 40)} | ${(inMemory ?? 'absent').slice(0, 40)}`];
  });
}
