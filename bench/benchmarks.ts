import { engines, type Engine } from './databases.ts';
import { seconds, type Figure } from './report.ts';

export interface Benchmark {
  engines: readonly Engine[];
  /** Quick: with fewer items, to see that it works. */
  run(engine: Engine, quick: boolean): Promise<Figure[]>;
}

const embedded: readonly Engine[] = ['pglite'];
const server = engines.filter((engine) => engine === 'postgres');

/** Each is loaded in the process that runs it. */
export const benchmarks: Readonly<Record<string, Benchmark>> = {
  'ingest-with-model': {
    engines,
    async run(engine, quick) {
      const { ingestWithModel } = await import('./ingest.ts');
      return [await ingestWithModel(engine, quick ? 200 : 2_000)];
    },
  },
  'ingest-without-model': {
    engines,
    async run(engine, quick) {
      const { ingestWithoutModel } = await import('./ingest.ts');
      return [await ingestWithoutModel(engine, quick ? 500 : 2_000)];
    },
  },
  'first-load': {
    engines: server,
    async run(_, quick) {
      const { benchFirstLoad } = await import('./first-load.ts');
      return [await benchFirstLoad(quick ? 6_000 : 20_000)];
    },
  },
  'mixed-folder': {
    engines,
    async run(engine, quick) {
      const { benchMixedFolder } = await import('./mixed-folder.ts');
      return benchMixedFolder(engine, quick ? 300_000 : 1_000_000);
    },
  },
  'folder-syncs': {
    engines,
    async run(engine, quick) {
      const { benchFolderSyncs } = await import('./folder-syncs.ts');
      const figures: Figure[] = [];
      for (const files of quick ? [5_000] : [20_000, 100_000]) figures.push(...(await benchFolderSyncs(engine, files)));
      return figures;
    },
  },
  growth: {
    engines,
    async run(engine, quick) {
      const { benchGrowth } = await import('./folder-syncs.ts');
      return benchGrowth(engine, quick ? [1_000, 4_000] : [1_000, 10_000, 100_000]);
    },
  },
  disk: {
    engines,
    async run(engine) {
      const { benchDisk } = await import('./disk.ts');
      return [await benchDisk(engine, 1_000)];
    },
  },
  search: { engines, run: searchFigures },
  'search-http': {
    engines,
    async run(engine, quick) {
      const { benchSearchOverHttp } = await import('./search-http.ts');
      return [await benchSearchOverHttp(engine, quick ? 2_000 : 10_000)];
    },
  },
  'search-rate': {
    engines,
    async run(engine, quick) {
      const { benchSearchRate } = await import('./search-rate.ts');
      return [await benchSearchRate(engine, quick ? 500 : 3_000)];
    },
  },
  'search-scale': {
    engines,
    async run(engine, quick) {
      const { benchSearchScale } = await import('./search-scale.ts');
      return benchSearchScale(engine, quick ? 25_000 : 100_000);
    },
  },
  'search-modes': {
    engines,
    async run(engine, quick) {
      const { benchSearchModes } = await import('./search-modes.ts');
      return benchSearchModes(engine, quick ? 500 : 5_000);
    },
  },
  rerank: {
    engines,
    async run(engine) {
      const { benchRerank } = await import('./rerank.ts');
      return benchRerank(engine);
    },
  },
  'api-add': {
    engines,
    async run(engine, quick) {
      const { benchApiAdd } = await import('./api-throughput.ts');
      return [await benchApiAdd(engine, quick ? 1_000 : 10_000)];
    },
  },
  'api-add-quota': {
    engines,
    async run(engine, quick) {
      const { benchApiAddWithQuota } = await import('./api-throughput.ts');
      return [await benchApiAddWithQuota(engine, quick ? 1_000 : 10_000)];
    },
  },
  'api-get': {
    engines,
    async run(engine, quick) {
      const { benchApiGet } = await import('./api-throughput.ts');
      return [await benchApiGet(engine, quick ? 2_000 : 20_000)];
    },
  },
  'api-dialects': {
    engines,
    async run(engine, quick) {
      const { benchDialects } = await import('./api-throughput.ts');
      return benchDialects(engine, quick ? 1_000 : 5_000);
    },
  },
  'reads-under-load': {
    engines,
    async run(engine, quick) {
      const { benchReadsUnderLoad } = await import('./api-reads-under-load.ts');
      return [await benchReadsUnderLoad(engine, quick ? 200 : 1_000)];
    },
  },
  'http-overhead': {
    engines,
    async run(engine, quick) {
      const { benchHttpOverhead } = await import('./http-overhead.ts');
      return [await benchHttpOverhead(engine, quick ? 2_000 : 10_000)];
    },
  },
  listing: {
    engines,
    async run(engine, quick) {
      const { benchListing } = await import('./listing.ts');
      return benchListing(engine, quick ? 10_000 : 100_000);
    },
  },
  incremental: {
    engines,
    async run(engine, quick) {
      const { benchIncremental } = await import('./incremental.ts');
      return [await benchIncremental(engine, quick ? 1_000 : 20_000)];
    },
  },
  github: {
    engines: embedded,
    async run(engine, quick) {
      const { benchGithub } = await import('./github.ts');
      return benchGithub(engine, quick ? 1_000 : 10_000);
    },
  },
  imap: {
    engines,
    async run(engine, quick) {
      const { benchImap } = await import('./imap.ts');
      return benchImap(engine, quick ? 1_000 : 10_000);
    },
  },
  'google-drive': hostedBenchmark('google-drive'),
  gmail: hostedBenchmark('gmail'),
  notion: hostedBenchmark('notion'),
  'fetch-queued': {
    engines,
    async run(engine, quick) {
      const { benchFetchQueued } = await import('./fetch-queued.ts');
      return [await benchFetchQueued(engine, quick ? 1_000 : 10_000)];
    },
  },
  'start-up': {
    engines: embedded,
    async run(_, quick) {
      const { benchStartUp } = await import('./start-up.ts');
      return benchStartUp(quick ? 1 : 5);
    },
  },
  embed: { engines: embedded, run: embedFigures },
  'event-loop': { engines: embedded, run: eventLoopFigures },
};

function hostedBenchmark(name: 'google-drive' | 'gmail' | 'notion'): Benchmark {
  return {
    engines,
    async run(engine, quick) {
      const { benchHosted } = await import('./hosted.ts');
      return benchHosted(name, engine, quick ? 1_000 : 10_000);
    },
  };
}

async function searchFigures(engine: Engine, quick: boolean): Promise<Figure[]> {
  const { benchSearch } = await import('./search.ts');
  const { chunks, warm, statement, overhead } = await benchSearch(engine, quick ? 2_000 : 10_000);
  return [
    {
      name: `search without HTTP and model, ${chunks} chunks, ${engine}`,
      value: `p50 ${seconds(warm.p50Ms)}`,
      limit: `bare statement p50 ${seconds(statement.p50Ms)}`,
      ratio: overhead,
      better: 'smaller',
      target: null,
    },
  ];
}

async function embedFigures(_: Engine, quick: boolean): Promise<Figure[]> {
  const { benchEmbed } = await import('./embed.ts');
  const measured = await benchEmbed(quick ? { durationMs: 500 } : {});
  const alone = { limit: null, ratio: null, target: null };
  const rate = (perSecond: number) => `${perSecond.toFixed(0)} per second`;
  return [
    { name: 'model, first vector', value: seconds(measured.firstVectorMs), better: 'smaller', ...alone },
    { name: 'model, sentences of 12 tokens', value: rate(measured.sentencesPerSecond), better: 'larger', ...alone },
    { name: 'model, chunks of 200 tokens', value: rate(measured.chunksPerSecond), better: 'larger', ...alone },
    {
      name: 'model, query while documents are embedded',
      value: `p50 ${seconds(measured.busyQueryP50Ms)}`,
      limit: `query alone p50 ${seconds(measured.queryP50Ms)}`,
      ratio: measured.busyQueryP50Ms / measured.queryP50Ms,
      better: 'smaller',
      target: null,
    },
  ];
}

async function eventLoopFigures(_: Engine, quick: boolean): Promise<Figure[]> {
  const { benchEventLoop } = await import('./event-loop.ts');
  const { idle, insert, build } = await benchEventLoop(quick ? 500 : 2_000);
  const figure = (work: string, p99Ms: number): Figure => ({
    name: `delay of the main thread, pglite ${work}`,
    value: `p99 ${seconds(p99Ms)}`,
    limit: `idle p99 ${seconds(idle.p99Ms)}`,
    ratio: p99Ms / idle.p99Ms,
    better: 'smaller',
    target: null,
  });
  return [figure('inserts chunks', insert.p99Ms), figure('builds HNSW', build.p99Ms)];
}
