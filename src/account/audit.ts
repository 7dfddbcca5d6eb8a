import { valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { storableText } from '../base/storable.ts';
import {
  countWrongKeys,
  listAuditEvents,
  storeAuditEvents,
  type AuditEvent,
  type AuditQuery,
  type WrongKeyCount,
} from '../store/audit.ts';
import type { Database } from '../store/database.ts';

export type { AuditEvent, AuditQuery };
export type Audited = Omit<AuditEvent, 'id' | 'at' | 'count'>;

export interface Audit {
  /** Writes a line to the log now and a row soon after; never throws. */
  note(event: Audited): void;
  /** Newest first. */
  list(query: AuditQuery): Promise<AuditEvent[]>;
  /** Keys that nobody has, of those that were given after a moment. */
  wrongKeys(since: Date): Promise<WrongKeyCount>;
  /** Waits for rows that are being written. */
  close(): Promise<void>;
}

/** A denied request that comes again within this time is counted, not written again. */
const repeatedWithinMs = 60_000;
/** Kinds of denied requests that are remembered for it. */
const maxRemembered = 1_000;
const writeEveryMs = 1_000;

interface AuditOptions {
  database: Database;
  clock: Clock;
  log: Logger;
}

export function createAudit(options: AuditOptions): Audit {
  const { database, clock, log } = options;
  const denied = new Map<string, { row: AuditEvent; more: number }>();
  const { write, close } = createWriter(options);

  function noteOnce(event: Audited): AuditEvent {
    const now = clock.now();
    log.info({ audit: { ...event, count: 1 } }, 'audit');
    const row = { ...event, id: newId(now), at: now, count: 1 };
    write(row);
    return row;
  }

  function noteDenied(event: Audited): void {
    const key = [event.keyId, event.address, event.target, event.status].join(' ');
    const before = denied.get(key);
    if (before && clock.now().getTime() - before.row.at.getTime() < repeatedWithinMs) {
      before.more += 1;
      write({ ...before.row, count: 1 });
      return;
    }
    if (before) forget(key);
    denied.set(key, { row: noteOnce(event), more: 0 });
    if (denied.size > maxRemembered) forget(denied.keys().next().value!);
  }

  /** The log hears at the end how often it came again; the row has it all the while. */
  function forget(key: string): void {
    const { row, more } = valueOf(denied, key);
    denied.delete(key);
    const { id: _id, at: _at, ...event } = row;
    if (more > 0) log.info({ audit: { ...event, count: more } }, 'audit');
  }

  return {
    note(noted) {
      // It names what the request did. One text that cannot be stored would cost all rows that are written with it.
      const event = { ...noted, target: noted.target === null ? null : storableText(noted.target) };
      if (event.outcome === 'denied') noteDenied(event);
      else noteOnce(event);
    },
    list: (query) => listAuditEvents(database, query),
    wrongKeys: (since) => countWrongKeys(database, since),
    async close() {
      for (const key of [...denied.keys()]) forget(key);
      await close();
    },
  };
}

/** Writes rows together, once a second. */
function createWriter({ database, clock, log }: AuditOptions) {
  const stop = new AbortController();
  /** Rows, and by how much those that are stored already have grown, by their ids. */
  let waiting = new Map<string, AuditEvent>();
  let writing: Promise<void> | undefined;

  async function writeSoon(): Promise<void> {
    while (waiting.size > 0) {
      await clock.sleep(writeEveryMs, stop.signal).catch(() => {});
      const events = [...waiting.values()];
      waiting = new Map();
      await storeAuditEvents(database, events).catch((error: unknown) =>
        log.error({ err: error, lost: events.length }, 'audit events not stored, the log has them'),
      );
    }
  }

  return {
    write(row: AuditEvent): void {
      waiting.set(row.id, { ...row, count: row.count + (waiting.get(row.id)?.count ?? 0) });
      writing ??= writeSoon().finally(() => (writing = undefined));
    },
    async close(): Promise<void> {
      stop.abort();
      await writing;
    },
  };
}
