import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { createRandom, makeText } from './corpus.ts';
import { untilProcessed, withDaemon } from './daemon.ts';
import { makeBenchStore, type Engine } from './databases.ts';
import { median, seconds, type Figure } from './report.ts';

/** More than are scored again, so that each question meets other texts. */
const textCount = 300;
const queryCount = 40;
const kinds = { 'turns of a chat': 120, passages: 1_000 } as const;
type Kind = keyof typeof kinds;

/**
 * What `rerank` adds to a search over HTTP, with the daemon's own settings and model: the same questions with and
 * without it, in turns within one run, no question twice.
 */
export async function benchRerank(engine: Engine): Promise<Figure[]> {
  const store = await makeBenchStore(engine);
  try {
    return await withDaemon(
      store,
      async (daemon) => {
        const figures: Figure[] = [];
        for (const kind of Object.keys(kinds) as Kind[]) figures.push(await measure(daemon, engine, kind));
        return figures;
      },
      'default model',
    );
  } finally {
    await store.remove();
  }
}

async function measure(daemon: Daemon, engine: Engine, kind: Kind): Promise<Figure> {
  const random = createRandom(kinds[kind]);
  const texts = Array.from({ length: textCount }, () => makeText(random, kinds[kind]).slice(0, kinds[kind]));
  const containerTag = kind.replaceAll(' ', '-');
  const documents = texts.map((content) => ({ content }));
  // Memories are looked for before a document is done, and not while searches are measured.
  const batch = { documents, containerTag, dreaming: 'instant' };
  const { failed } = await call(daemon, 'POST', '/v3/documents/batch', batch);
  if (failed > 0) throw new Error(`${failed} documents of a batch were refused.`);
  await untilProcessed(daemon);
  const search = async (q: string, rerank: boolean): Promise<number> => {
    const started = performance.now();
    const body = { q, rerank, containerTag, searchMode: 'documents', threshold: 0, limit: 10 };
    const { total } = await call(daemon, 'POST', '/v4/search', body);
    if (total !== 10) throw new Error(`A search was to find 10 texts, it found ${total}.`);
    return performance.now() - started;
  };
  // The first comparison of each thread opens a part of the model.
  await Promise.all(texts.slice(0, 8).map((text) => search(text.slice(0, 60), true)));
  const [plain, reranked]: [number[], number[]] = [[], []];
  for (let count = 0; count < queryCount; count++) {
    const q = makeText(random, 60).replace(/\s+/g, ' ').trim();
    plain.push(await search(q, false));
    reranked.push(await search(q, true));
  }
  const added = median(reranked.map((ms, place) => ms - plain[place]!));
  return {
    name: `rerank over HTTP, 60 ${kind} of ${kinds[kind]} characters, ${engine}`,
    value: `adds ${seconds(added)} at p50 (${seconds(median(reranked))})`,
    limit: `search without it p50 ${seconds(median(plain))}`,
    ratio: added / 60,
    better: 'smaller',
    target: 1,
  };
}
