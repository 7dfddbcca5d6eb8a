import { firstOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { whileRenewing } from '../base/concurrency.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { dueForDreaming, postponeDreaming, type MinedDocument } from '../store/dreaming.ts';
import { applySettingChange, hasSettingChanges } from '../store/memory-settings.ts';
import { countDueDocuments } from '../store/processing.ts';
import { holdLease, isLeaseLost, releaseLease, whileHeld, type HeldLease } from '../store/leases.ts';
import { pausesMsOf, standardRedrives } from '../base/redrive-pauses.ts';
import type { Findings, Remembering } from './remember.ts';

export interface DreamingOptions {
  database: Database;
  remembering: Remembering;
  clock: Clock;
  log: Logger;
  /** Names this process; one at a time dreams. */
  holder: string;
  /** Default 20,000. */
  quietMs?: number;
  /** Default 120,000. */
  waitMs?: number;
  /** So many documents of a container do not wait any longer. Default 20. */
  documents?: number;
  /** As documents that failed are driven again (7.3); the last pause is repeated. */
  redrivesMs?: readonly number[];
}

export interface Dreaming {
  /** Finds the memories of all documents whose time has come. Answers how many documents it read. */
  run(signal: AbortSignal): Promise<number>;
  /** `run` again and again until the signal aborts. */
  keepRunning(signal: AbortSignal): Promise<void>;
}

const leaseName = 'dreaming';
const leaseMs = 60_000;
const lookEveryMs = 2_000;
/** Documents that are worked on, or will be so soon, go before memories. */
const soonMs = 30_000;
const changedAtOnce = 500;
const standardDocuments = 20;
const standardRedrivesMs = pausesMsOf(standardRedrives);
const lastResortMs = 12 * 60 * 60_000;

/**
 * The phase after `done` (section 7.4 of the API): documents of one container are read together, oldest
 * first. It stands back while anything waits to be made searchable.
 */
export function createDreaming(options: DreamingOptions): Dreaming {
  const { database, clock, log, holder } = options;

  async function run(signal: AbortSignal): Promise<number> {
    let read = 0;
    while (!signal.aborted && (await isIdle(options))) {
      if (await applySettings(options)) continue;
      const documents = await dueDocuments(options);
      if (documents.length === 0) break;
      const lease = await takeLease(options);
      if (!lease) return read;
      await readAll(options, lease, documents, signal);
      read += documents.length;
    }
    if (read > 0) await releaseLease(database, leaseName, holder);
    return read;
  }

  return {
    run,
    async keepRunning(signal) {
      while (!signal.aborted) {
        await run(signal).catch((error: unknown) => {
          if (isLeaseLost(error)) log.info({}, 'dreaming continues in another process');
          else log.error({ err: error }, 'dreaming failed, tried again');
        });
        await clock.sleep(lookEveryMs, signal);
      }
    },
  };
}

function dueDocuments(options: DreamingOptions): Promise<MinedDocument[]> {
  const { database, clock, documents = standardDocuments, quietMs = 20_000, waitMs = 120_000 } = options;
  const now = clock.now();
  const before = (ms: number) => new Date(now.getTime() - ms);
  const since = { quietSince: before(quietMs), waitedSince: before(waitMs) };
  return dueForDreaming(database, { now, ...since, enough: documents, limit: documents });
}

async function isIdle({ database, clock }: DreamingOptions): Promise<boolean> {
  const soon = new Date(clock.now().getTime() + soonMs);
  return (await countDueDocuments(database, soon, 1)) === 0;
}

function takeLease({ database, clock, holder }: DreamingOptions): Promise<HeldLease | null> {
  const now = clock.now();
  return holdLease(database, leaseName, { holder, until: new Date(now.getTime() + leaseMs), now });
}

/** Answers whether there was anything to do. */
async function applySettings(options: DreamingOptions): Promise<boolean> {
  const { database, clock } = options;
  if (!(await hasSettingChanges(database))) return false;
  const lease = await takeLease(options);
  if (!lease) return false;
  await whileHeld(database, lease, (tx) => applySettingChange(tx, changedAtOnce, clock.now()));
  return true;
}

async function readAll(
  options: DreamingOptions,
  lease: HeldLease,
  documents: readonly MinedDocument[],
  signal: AbortSignal,
): Promise<void> {
  const { database, remembering } = options;
  try {
    const findings = await findAll(options, documents, signal);
    await whileHeld(database, lease, (tx) => remembering.store(tx, findings));
  } catch (error) {
    if (signal.aborted) return;
    // Another process reads these documents by now.
    if (isLeaseLost(error)) throw error;
    // One bad document must not keep its neighbours from being read.
    if (documents.length === 1) return postpone(options, lease, firstOf(documents), error);
    for (const document of documents) await readAll(options, lease, [document], signal);
  }
}

/** Models take their time; the role is kept for as long as they need. */
function findAll(
  options: DreamingOptions,
  documents: readonly MinedDocument[],
  signal: AbortSignal,
): Promise<Findings> {
  const { clock, log, remembering } = options;
  const renew = () =>
    takeLease(options).catch((error: unknown) => log.warn({ err: error }, 'lease of dreaming could not be renewed'));
  return whileRenewing({ clock, everyMs: leaseMs / 3, renew }, () => remembering.find(documents, signal));
}

async function postpone(
  { database, clock, log, redrivesMs = standardRedrivesMs }: DreamingOptions,
  lease: HeldLease,
  { id, attempts }: MinedDocument,
  error: unknown,
): Promise<void> {
  const pauseMs = redrivesMs[attempts] ?? redrivesMs.at(-1) ?? lastResortMs;
  const code = MemorydError.is(error) ? error.code : 'memory_failed';
  log.warn({ err: error, documentId: id, code }, 'memories of a document not found, tried again later');
  const until = new Date(clock.now().getTime() + pauseMs);
  await whileHeld(database, lease, (tx) => postponeDreaming(tx, [id], until));
}
