import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { removeDocuments } from '../engine/remove.ts';
import type { Database, Transaction } from '../store/database.ts';
import {
  containersWithForgotten,
  countMemoriesOnlyFrom,
  documentsNamed,
  documentsToErase,
  endRemoving,
  eraseAllCopies,
  eraseCopies,
  eraseForgotten,
  eraseKeptAnswers,
  findErasure,
  insertErasure,
  lockDocumentsToErase,
  noteErased,
  stalledErasures,
  type ErasureRow,
  type ErasureTarget,
  endRewriting,
  erasuresToRewrite,
  noteRewritingProblem,
  clearStatistics,
  emptyLog,
  isSeenBySome,
  momentOf,
  rewriteTable,
  tablesToRewrite,
} from '../store/erasures.ts';
import { suppressItemsOfDocuments } from '../store/sync-items.ts';
import type { ContainerTags } from './container-tags.ts';
import { holdLease, releaseLease } from '../store/leases.ts';

/** An order to erase content so that it is in no file of the database any more. */
export interface Erasure extends Omit<ErasureRow, 'notRewritten'> {
  /** Steps left to the operator. */
  left: string[];
}

/** Documents by id or customId. */
export type ErasureInput = { documents: string[] } | { containerTag: string } | { deleted: true };

export interface Erasures {
  /**
   * Deletes the rows with all that hangs on them before it answers, and lets files be rewritten after it (unless
   * the operator does it). Throws `not_found` for a document or container that is not there, `conflict` for a
   * customId of several containers and a container that is merged.
   */
  start(input: ErasureInput, options: { rewrite: boolean }): Promise<Erasure>;
  find(id: string): Promise<Erasure | null>;
  /** Goes on with what a stop of its process has interrupted, or what came to no end. */
  runOpen(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface ErasuresOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  containerTags: Pick<ContainerTags, 'find' | 'remove'>;
}

const batchSize = 200;
/** An order that has not gone on for so long has lost its process. */
const stalledAfterMs = 60_000;

export function createErasures(options: ErasuresOptions): Erasures {
  const { database, clock } = options;
  const rewriting = createRewriting({ ...options, holder: randomUUID() });

  function shown({ notRewritten, ...row }: ErasureRow): Erasure {
    return { ...row, left: leftOf(database.engine, row.rewrite, notRewritten) };
  }

  async function find(id: string): Promise<Erasure | null> {
    const row = await findErasure(database, id);
    return row && shown(row);
  }

  return {
    async start(input, { rewrite }) {
      const now = clock.now();
      const erasure = { id: newId(now), target: await targetOf(options, input), rewrite };
      await insertErasure(database, erasure, now);
      await remove(options, erasure);
      rewriting.runLater();
      return (await find(erasure.id))!;
    },
    find,
    async runOpen(signal) {
      const before = new Date(clock.now().getTime() - stalledAfterMs);
      for (const erasure of await stalledErasures(database, before)) await remove(options, erasure);
      await rewriting.run(signal);
    },
    close: () => rewriting.close(),
  };
}

async function targetOf({ database, containerTags }: ErasuresOptions, input: ErasureInput): Promise<ErasureTarget> {
  if ('documents' in input) return { documentIds: await idsOf(database, input.documents) };
  if ('deleted' in input) return input;
  if (await containerTags.find(input.containerTag)) return input;
  throw new MemorydError('not_found', 'Container not found', { details: wayToDeleted });
}

async function remove(options: ErasuresOptions, { id, target }: Pick<ErasureRow, 'id' | 'target'>): Promise<void> {
  if ('documentIds' in target) await removeBatch(options, id, async () => target.documentIds);
  else if ('containerTag' in target) await removeContainer(options, id, target.containerTag);
  else await removeDeleted(options, id);
  const { database, clock } = options;
  await database.transaction(async (tx) => {
    await eraseKeptAnswers(tx);
    await endRemoving(tx, id, clock.now());
  });
}

async function removeContainer(options: ErasuresOptions, id: string, tag: string): Promise<void> {
  const { database, clock, containerTags } = options;
  const removed = await containerTags.remove(tag);
  if (removed) await database.transaction((tx) => noteErased(tx, id, removed, clock.now()));
  while (await removeBatch(options, id, (tx) => lockDocumentsToErase(tx, tag, batchSize)));
}

async function removeDeleted(options: ErasuresOptions, id: string): Promise<void> {
  const { database, clock } = options;
  while (await removeBatch(options, id, (tx) => lockDocumentsToErase(tx, null, batchSize)));
  const now = clock.now();
  for (const tag of await containersWithForgotten(database, now)) {
    await database.transaction(async (tx) => {
      const memories = await eraseForgotten(tx, tag, now);
      await noteErased(tx, id, { documents: 0, memories }, now);
    });
  }
  await database.transaction(eraseAllCopies);
}

/** Answers whether there may be more. */
function removeBatch(
  { database, clock }: ErasuresOptions,
  id: string,
  choose: (tx: Transaction) => Promise<string[]>,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const ids = await choose(tx);
    const now = clock.now();
    const memories = await countMemoriesOnlyFrom(tx, ids);
    await eraseCopies(tx, ids);
    await suppressItemsOfDocuments(tx, ids, now);
    await noteErased(tx, id, { documents: await removeDocuments(tx, ids, now), memories }, now);
    return ids.length === batchSize;
  });
}

const wayToDeleted = 'Content that was deleted before is erased with `deleted`';

/** All are found, or none is erased. */
async function idsOf(database: Database, documents: readonly string[]): Promise<string[]> {
  const found = new Set(await documentsToErase(database, documents));
  for (const name of documents) {
    if (found.has(name)) continue;
    const named = await documentsNamed(database, name);
    if (named.length === 0) throw new MemorydError('not_found', 'Document not found', { details: wayToDeleted });
    if (new Set(named.map(({ tag }) => tag)).size > 1) {
      throw new MemorydError('conflict', 'customId is ambiguous', {
        details: 'It is used in several containers; name the documents by their ids',
        shouldRetry: false,
      });
    }
    for (const { id } of named) found.add(id);
  }
  return [...found];
}

const leftOn = {
  pglite: [
    'Backups and snapshots of the data directory hold it until they are deleted.',
    'The disk may hold it in blocks that the file system has freed; an encrypted disk keeps it from those who take it.',
  ],
  postgres: [
    'The write-ahead log of the server holds it until its files are used again, and an archive of the log for good.',
    'Backups and snapshots of the database hold it until they are deleted; replicas follow by themselves, their logs as the server’s.',
    'The log of the server holds it where statements are logged.',
  ],
};

function leftOf(engine: Database['engine'], rewrite: boolean, notRewritten: readonly string[]): string[] {
  const tables = rewrite ? notRewritten : ['every table'];
  const files =
    tables.length === 0
      ? []
      : [
          `Not rewritten: ${tables.join(', ')}. As owner run VACUUM FULL or pg_repack, as superuser empty pg_statistic.`,
        ];
  return [...files, ...leftOn[engine]];
}

/** Rewrites the files of the database for erasures whose rows are gone; one process does it for all. */
export interface Rewriting {
  run(signal: AbortSignal): Promise<void>;
  /** After the answer. */
  runLater(): void;
  close(): Promise<void>;
}

const role = 'erasing';
/** Longer than the largest table takes; after a crash others wait as long. */
const leaseMs = 30 * 60_000;
const lookEveryMs = 200;
/** How long transactions that began before may take; the longest of our own ends in seconds. */
const patienceMs = 60_000;
const retryMs = 10 * 60_000;
/**
 * Every erasure rewrites whole tables and their vector index, and the embedded database does
 * nothing else meanwhile. What comes soon after waits, so that all of it together takes at most a fifth of the time.
 */
const restShare = 4;
/** Rewriting that takes less time than this needs no rest. */
const shortMs = 2_000;

interface RewritingOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Names this process among those that could rewrite. */
  holder: string;
}

export function createRewriting(options: RewritingOptions): Rewriting {
  const { database, clock, log, holder } = options;
  const stop = new AbortController();
  let turn: Promise<void> = Promise.resolve();
  let restUntilMs = 0;

  async function runOnce(signal: AbortSignal): Promise<void> {
    const ids = await erasuresToRewrite(database, new Date(clock.now().getTime() - retryMs));
    if (ids.length === 0 || signal.aborted || !(await keepLease(options))) return;
    const begunMs = clock.now().getTime();
    try {
      await rewriteAll(options, ids, signal);
    } catch (error) {
      log.error({ err: error, erasures: ids.length }, 'files were not rewritten, it is tried again');
      const problem = MemorydError.is(error) ? error.message : 'The database did not rewrite its files; see the log.';
      await noteRewritingProblem(database, ids, problem, clock.now());
    } finally {
      const tookMs = clock.now().getTime() - begunMs;
      if (tookMs >= shortMs) restUntilMs = clock.now().getTime() + tookMs * restShare;
      await releaseLease(database, role, holder);
    }
  }

  async function rest(signal: AbortSignal): Promise<void> {
    await clock.sleep(restUntilMs - clock.now().getTime(), signal);
  }

  function run(signal: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([signal, stop.signal]);
    turn = turn
      .then(() => rest(ended))
      .then(() => runOnce(ended))
      .catch((error: unknown) => log.error({ err: error }, 'erasing stopped, it will be resumed'));
    return turn;
  }

  return {
    run,
    runLater: () => void run(stop.signal),
    async close() {
      stop.abort();
      await turn;
    },
  };
}

function keepLease({ database, clock, holder }: RewritingOptions) {
  const now = clock.now();
  return holdLease(database, role, { holder, now, until: new Date(now.getTime() + leaseMs) });
}

async function rewriteAll(options: RewritingOptions, ids: readonly string[], signal: AbortSignal): Promise<void> {
  const { database, clock, log } = options;
  await waitForReaders(options, signal);
  const tables = await tablesToRewrite(database);
  const notRewritten = await rewriteTables(options, tables, signal);
  if (notRewritten === null) return;
  notRewritten.push(...(await clearStatistics(database, tables)));
  if (!(await rewriteTable(database, 'pg_statistic'))) notRewritten.push('pg_statistic');
  await emptyLog(database);
  await endRewriting(database, ids, notRewritten, clock.now());
  log.info({ erasures: ids.length, notRewritten }, 'erased content is out of the files of the database');
}

/** Between two tables others get the one session of the embedded database. Null: somebody else goes on. */
async function rewriteTables(
  options: RewritingOptions,
  tables: readonly string[],
  signal: AbortSignal,
): Promise<string[] | null> {
  const notRewritten: string[] = [];
  for (const table of tables) {
    if (signal.aborted || !(await keepLease(options))) return null;
    if (!(await rewriteTable(options.database, table))) notRewritten.push(table);
  }
  return notRewritten;
}

/** Waits for transactions opened before the removal: rows that they still see would be rewritten with the rest. */
async function waitForReaders({ database, clock }: RewritingOptions, signal: AbortSignal): Promise<void> {
  if (database.engine === 'pglite') return;
  const moment = await momentOf(database);
  for (let waitedMs = 0; await isSeenBySome(database, moment); waitedMs += lookEveryMs) {
    if (signal.aborted) return;
    if (waitedMs >= patienceMs) throw new MemorydError('unavailable', stillSeen);
    await clock.sleep(lookEveryMs, signal);
  }
}

const stillSeen =
  'A transaction or replication slot from before the removal is open and still sees the rows; end it, and it is tried again.';
