import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { dueForDreaming, postponeDreaming, type MinedDocument } from '../store/dreaming.ts';
import { holdLease, releaseLease } from '../store/leases.ts';
import { pausesMsOf, standardRedrives } from '../base/redrive-pauses.ts';
import type { Remembering } from './remember.ts';

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
  /** As many documents are not waited with. Default 20. */
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
const lookEveryMs = 5_000;
const standardDocuments = 20;
const lastResortMs = 12 * 60 * 60_000;

/** The phase after `done` (section 7.4 of the API): documents of one container are read together, oldest first. */
export function createDreaming(options: DreamingOptions): Dreaming {
  const { database, remembering, clock, log, holder } = options;
  const { documents: enough = standardDocuments, redrivesMs = pausesMsOf(standardRedrives) } = options;
  const before = (ms: number) => new Date(clock.now().getTime() - ms);

  function due(): Promise<MinedDocument[]> {
    return dueForDreaming(database, {
      now: clock.now(),
      quietSince: before(options.quietMs ?? 20_000),
      waitedSince: before(options.waitMs ?? 120_000),
      enough,
      limit: enough,
    });
  }

  async function readAll(documents: readonly MinedDocument[], signal: AbortSignal): Promise<void> {
    try {
      const findings = await remembering.find(documents, signal);
      await database.transaction((tx) => remembering.store(tx, findings));
    } catch (error) {
      if (signal.aborted) return;
      // One bad document must not keep its neighbours from being read.
      if (documents.length === 1) return postpone(documents[0]!, error);
      for (const document of documents) await readAll([document], signal);
    }
  }

  async function postpone({ id, attempts }: MinedDocument, error: unknown): Promise<void> {
    const pauseMs = redrivesMs[attempts] ?? redrivesMs.at(-1) ?? lastResortMs;
    const code = MemorydError.is(error) ? error.code : 'memory_failed';
    log.warn({ err: error, documentId: id, code }, 'memories of a document not found, tried again later');
    await postponeDreaming(database, [id], new Date(clock.now().getTime() + pauseMs));
  }

  async function run(signal: AbortSignal): Promise<number> {
    let read = 0;
    while (!signal.aborted) {
      const documents = await due();
      if (documents.length === 0) break;
      const until = new Date(clock.now().getTime() + leaseMs);
      if (!(await holdLease(database, leaseName, { holder, until, now: clock.now() }))) return read;
      await readAll(documents, signal);
      read += documents.length;
    }
    if (read > 0) await releaseLease(database, leaseName, holder);
    return read;
  }

  return {
    run,
    async keepRunning(signal) {
      while (!signal.aborted) {
        await run(signal).catch((error: unknown) => log.error({ err: error }, 'dreaming failed, tried again'));
        await clock.sleep(lookEveryMs, signal);
      }
    },
  };
}
