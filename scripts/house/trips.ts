import { createHmac } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { startDaemon, type Daemon } from '../../test/support/daemon.ts';
import { projectFolder } from '../../test/support/imports-of.ts';
import { call, found, storedFiles } from '../../test/support/memory-of.ts';

export interface TripCount {
  trip: string;
  files: number;
  functions: number;
  /** Files by the folder of `src` that they are in, the most first. */
  rooms: [room: string, files: number][];
  /** Functions that run, by file, the fewest first. */
  places: [file: string, functions: number][];
}

type Trip = (daemon: Daemon, folder: string) => Promise<void>;

const hookSecret = 'a secret of the application';

/** What each trip does between the start of a daemon and its end. */
const trips: Record<string, Trip> = {
  'sync of one file in a folder': async (daemon, folder) => {
    await call(daemon, 'POST', '/v3/connections/folder', { metadata: { path: folder } });
    // A search would be counted with it.
    await until(async () => [...(await storedFiles(daemon)).values()].some(({ status }) => status === 'done'));
  },
  search: async (daemon) => void (await found(daemon, 'signing key')),
  webhook: async (daemon) => {
    const body = JSON.stringify({ installation: { id: 1 }, repository: { id: 2, full_name: 'acme/notes' } });
    const answer = await fetch(`${daemon.url}/v3/hooks/github`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'push',
        'x-github-delivery': '00000000-0000-0000-0000-000000000001',
        'x-hub-signature-256': `sha256=${createHmac('sha256', hookSecret).update(body).digest('hex')}`,
      },
    });
    if (answer.status !== 202) throw new Error(`The webhook was answered ${answer.status}: ${await answer.text()}`);
  },
};

/** Files and functions of `src` that each trip runs and a start and end without it does not, in all threads. */
export async function countTrips(): Promise<TripCount[]> {
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-house-'));
  try {
    await writeFile(join(folder, 'keys.md'), '# Keys\n\nRotate the signing key every 90 days.\n');
    const start = await functionsRunBy(async () => {}, folder);
    const counts: TripCount[] = [];
    for (const [trip, travel] of Object.entries(trips)) {
      const beyond = [...(await functionsRunBy(travel, folder))].filter((place) => !start.has(place));
      const places = countBy(beyond, (place) => place.split(' ')[0]!);
      const rooms = countBy(places, ([file]) => file.split('/')[0]!).toReversed();
      counts.push({ trip, files: places.length, functions: beyond.length, rooms, places });
    }
    return counts;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** How many each name stands for, the fewest first. */
function countBy<T>(list: readonly T[], nameOf: (one: T) => string): [name: string, count: number][] {
  const counts = [...Map.groupBy(list, nameOf)].map(([name, { length }]): [string, number] => [name, length]);
  return counts.toSorted(([, a], [, b]) => a - b);
}

/** After a start, work in the background looks for what is left to do. It belongs to no trip. */
const backgroundMs = 3_000;

/** As `path start end`, of every function that V8 saw run in a daemon from its start to its end. */
async function functionsRunBy(travel: Trip, folder: string): Promise<Set<string>> {
  const coverage = await mkdtemp(join(tmpdir(), 'memoryd-coverage-'));
  try {
    const daemon = await startDaemon({
      env: { NODE_V8_COVERAGE: coverage, MEMORYD_HOOK_SECRETS: JSON.stringify({ github: hookSecret }) },
    });
    try {
      await sleep(backgroundMs);
      await travel(daemon, folder);
    } finally {
      await daemon.stop();
    }
    const names = await readdir(coverage);
    const reports = await Promise.all(names.map((name) => readFile(join(coverage, name), 'utf8')));
    return new Set(reports.flatMap(functionsIn));
  } finally {
    await rm(coverage, { recursive: true, force: true });
  }
}

interface CoverageReport {
  result: {
    url: string;
    functions: { ranges: [{ startOffset: number; endOffset: number; count: number }] }[];
  }[];
}

function functionsIn(report: string): string[] {
  const source = pathToFileURL(join(projectFolder, 'src/')).href;
  const scripts = (JSON.parse(report) as CoverageReport).result.filter(({ url }) => url.startsWith(source));
  return scripts.flatMap(({ url, functions }) =>
    functions
      .map(({ ranges: [whole] }) => whole)
      .filter(({ count }) => count > 0)
      .map(({ startOffset, endOffset }) => `${url.slice(source.length)} ${startOffset} ${endOffset}`),
  );
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('The file was not done within a minute.');
    await sleep(100);
  }
}
