import type { AppOptions } from './adapters.ts';
import { refreshIdle } from './auth/credentials.ts';
import { pausesMsOf } from './base/redrive-pauses.ts';
import type { createContentServices } from './content-services.ts';
import { withPictures } from './engine/read-document.ts';
import { reembed } from './engine/reembed.ts';
import { createSummarizing } from './engine/summarizing.ts';
import { createDreaming } from './memory/dreaming.ts';
import type { Engine } from './open-engine.ts';
import type { Sources } from './open-sources.ts';
import type { Opened } from './opening.ts';
import { createChores, createScheduler } from './schedule/scheduler.ts';
import { embeddedKinds } from './store/stored-vectors.ts';
import { createVectorIndex } from './store/vector-index.ts';
import { workOnSyncs } from './sync/work-syncs.ts';

/** What the roles of a process work with. */
export interface RoleParts {
  engine: Engine;
  sources: Sources;
  content: ReturnType<typeof createContentServices>;
  backups: { runDue(): Promise<void> } | null;
  /** Names this process where it holds a lease. */
  holder: string;
  opened: Opened;
}

/** Takes documents and syncs from the queue, until that is closed. */
export async function takeTasks({ config, clock, log }: AppOptions, { engine, sources }: RoleParts): Promise<void> {
  const { database, processor, textWork, ocr, handOver, queue, waking } = engine;
  const { registry, credentials, outbound, runSettings, watching } = sources;
  await queue.work('process-documents', async (_, signal) => void (await processor.drain(signal)), {
    concurrency: config.worker.concurrency,
  });
  const runner = {
    ...{ database, clock, log, credentials, outbound, watching, handOver },
    extractor: withPictures(textWork, ocr),
    settings: runSettings,
    connector: registry.load,
    wake: (count: number) => waking.documents(count),
    invite: (connectionId: string) => waking.fetchers(connectionId),
  };
  await workOnSyncs(queue, runner, config.sync.concurrency);
}

/** What a worker does beside the queue's tasks, until the signal aborts. */
export function workBeside(
  { config, clock, log }: AppOptions,
  { engine, sources, holder, opened }: RoleParts,
  signal: AbortSignal,
): Promise<unknown>[] {
  const { database, embedder, remembering, languageModel } = engine;
  opened.add(sources.watching);
  const background: Promise<unknown>[] = [sources.watching.keepRunning(signal)];
  if (config.memories === 'on') {
    const redrivesMs = pausesMsOf(config.redriveSchedule);
    const dreaming = createDreaming({ database, remembering, clock, log, holder, ...config.dreaming, redrivesMs });
    background.push(dreaming.keepRunning(signal));
  }
  if (languageModel && config.llm.summaries) {
    const summarizing = createSummarizing({ database, answering: languageModel, clock, log, holder });
    background.push(summarizing.keepRunning(signal));
  }
  background.push(
    reembed({ database, embedder, clock, log, holder }, signal).catch((error: unknown) =>
      log.error({ err: error }, 'background work on vectors failed, the next start tries again'),
    ),
  );
  return background;
}

/** Wakes what is due, while this process leads. */
export function startScheduler({ clock, log }: AppOptions, parts: RoleParts): void {
  const { engine, sources, content, backups, holder, opened } = parts;
  const { database, embedder, queue, waking } = engine;
  const { registry, credentials, hooks, connections } = sources;
  const vectorIndexes = embeddedKinds.map((kind) => createVectorIndex({ database, kind, embedder, clock, log }));
  const idle = { database, credentials, connector: (name: string) => registry.load(name), clock, log };
  const chores = createChores({
    ...{ database, clock, log, connections, backups },
    hooks: hooks.subscriptions,
    refreshIdle: (signal) => refreshIdle(idle, signal),
    merges: content.merges,
    erasures: content.erasures,
  });
  const alone = queue.kind === 'in-process';
  opened.add(createScheduler({ database, waking, clock, log, holder, alone, vectorIndexes, chores }));
}
