import { systemClock } from '../src/base/clock.ts';
import { rawSql } from '../src/store/sql.ts';
import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { createRandom } from './corpus.ts';
import { withDaemon } from './daemon.ts';
import { makeBenchStore, type BenchStore, type Engine } from './databases.ts';
import { median, seconds, type Figure } from './report.ts';
import { createSearchWorld } from './search-world.ts';

const bytesPerDocument = 2_000;
const documentsPerBatch = 500;
const queryCount = 60;
const rounds = 5;
const loadPatienceMs = 900_000;
const modes = ['documents', 'hybrid', 'memories'] as const;

/**
 * Searches over HTTP in the three modes, in turns within one run: texts that were told to memory, all of them
 * read for memories, with the daemon's own settings but for the embedding model.
 */
export async function benchSearchModes(engine: Engine, documents: number): Promise<Figure[]> {
  const store = await makeBenchStore(engine);
  try {
    await withDaemon(store, (daemon) => load(daemon, documents));
    const counts = await countsOf(store);
    const times = await withDaemon(store, (daemon) => timeModes(daemon, queriesOf(documents)));
    const [base, ...others] = modes;
    return others.map((mode) => ({
      name: `${mode} beside ${base}, ${documents} documents of 2 KB, ${engine}`,
      value: `p50 ${seconds(median(times[mode]))} (${counts})`,
      limit: `${base} p50 ${seconds(median(times[base]))}`,
      ratio: median(times[mode]) / median(times[base]),
      better: 'smaller',
      target: 1.3,
    }));
  } finally {
    await store.remove();
  }
}

async function load(daemon: Daemon, count: number): Promise<void> {
  const text = createTexts();
  for (let start = 0; start < count; start += documentsPerBatch) {
    const documents = Array.from({ length: Math.min(documentsPerBatch, count - start) }, () => ({ content: text() }));
    const batch = { documents, containerTag: 'bench', taskType: 'memory', dreaming: 'instant' };
    const { failed } = await call(daemon, 'POST', '/v3/documents/batch', batch);
    if (failed > 0) throw new Error(`${failed} documents of a batch were refused.`);
  }
  await until(async () => (await call(daemon, 'GET', '/v3/documents/processing')).totalCount === 0);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const started = performance.now();
  while (!(await isSo())) {
    if (performance.now() - started > loadPatienceMs) throw new Error('The documents were not processed in time.');
    await systemClock.sleep(2_000);
  }
}

/** Notes in which people tell something here and there; the words of weight are by Zipf's law, the others English. */
function createTexts(): () => string {
  const world = createSearchWorld(11);
  const random = createRandom(12);
  const name = () => names[Math.floor(random() * names.length)]!;
  const told = () => {
    const tell = tellings[Math.floor(random() * tellings.length)]!;
    return tell(name(), world.text(1));
  };
  return () => {
    let text = '';
    while (text.length < bytesPerDocument) {
      const [first, second, third] = [world.text(2), world.text(3), world.text(3)];
      text +=
        random() < 0.12 ? `${told()} ` : `The ${first} of the ${second} was with what they had for the ${third}. `;
    }
    return text.trim();
  };
}

const names = ['Lena', 'Omar', 'Mira', 'Jonas', 'Ayşe', 'Tom', 'Ingrid', 'Pablo'];
const tellings: readonly ((name: string, word: string) => string)[] = [
  (name, word) => `${name} moved to ${capital(word)} in May.`,
  (name, word) => `${name} works at ${capital(word)} as an engineer.`,
  (_, word) => `I like ${word} in the morning.`,
  (name, word) => `My sister ${name} prefers ${word} to coffee.`,
  (name, word) => `${name} is learning ${capital(word)} with a teacher.`,
  (name, word) => `I visited ${capital(word)} with ${name} last summer.`,
];
const capital = (word: string) => `${word[0]!.toUpperCase()}${word.slice(1)}`;

/** Half of them ask about people, half are made of words of the texts. */
function queriesOf(documents: number): string[] {
  const world = createSearchWorld(11);
  const random = createRandom(documents);
  return Array.from({ length: queryCount }, (_, index) => {
    if (index % 2 === 0) return world.text(5);
    return `Where does ${names[Math.floor(random() * names.length)]!} work, and what about ${world.text(1)}?`;
  });
}

async function countsOf(store: BenchStore): Promise<string> {
  const database = await store.open();
  try {
    const [row] = await database.query<{ chunks: number; memories: number }>(
      rawSql('select (select count(*) from chunks) as chunks, (select count(*) from memories) as memories'),
    );
    return `${row!.chunks} chunks, ${row!.memories} memories`;
  } finally {
    await database.close();
  }
}

type Times = Record<(typeof modes)[number], number[]>;

async function timeModes(daemon: Daemon, queries: readonly string[]): Promise<Times> {
  const times: Times = { documents: [], hybrid: [], memories: [] };
  const search = (q: string, searchMode: string) =>
    call(daemon, 'POST', '/v4/search', { q, searchMode, containerTag: 'bench', threshold: 0, limit: 10 });
  for (const q of queries) for (const mode of modes) await search(q, mode);
  for (let round = 0; round < rounds; round++) {
    for (const q of queries) {
      for (const mode of modes) {
        const started = performance.now();
        const { total } = await search(q, mode);
        if (total === 0) throw new Error(`A search in mode ${mode} found nothing.`);
        times[mode].push(performance.now() - started);
      }
    }
  }
  return times;
}
