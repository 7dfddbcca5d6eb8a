import { valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { insertAuditEvents, listAuditEvents, type AuditEvent, type AuditQuery } from '../store/audit.ts';
import type { Database } from '../store/database.ts';

export type { AuditEvent, AuditQuery };
export type Audited = Omit<AuditEvent, 'id' | 'at' | 'count'>;

export interface Audit {
  /** Writes a line to the log now and a row soon after; never throws. */
  note(event: Audited): void;
  /** Newest first. */
  list(query: AuditQuery): Promise<AuditEvent[]>;
  /** Waits for rows that are being written. */
  close(): Promise<void>;
}

/** A denied request that comes again within this time is counted, not written again. */
const repeatedWithinMs = 60_000;
/** Kinds of denied requests that are remembered for it. */
const maxRemembered = 1_000;
const writeEveryMs = 1_000;

export function createAudit({ database, clock, log }: { database: Database; clock: Clock; log: Logger }): Audit {
  const denied = new Map<string, { sinceMs: number; more: number; event: Audited }>();
  const stop = new AbortController();
  let waiting: AuditEvent[] = [];
  let writing: Promise<void> | undefined;

  function keep(event: Audited, count: number): void {
    const now = clock.now();
    log.info({ audit: { ...event, count } }, 'audit');
    waiting.push({ ...event, id: newId(now), at: now, count });
    writing ??= writeSoon().finally(() => (writing = undefined));
  }

  async function writeSoon(): Promise<void> {
    while (waiting.length > 0) {
      await clock.sleep(writeEveryMs, stop.signal).catch(() => {});
      const events = waiting;
      waiting = [];
      await insertAuditEvents(database, events).catch((error: unknown) =>
        log.error({ err: error, lost: events.length }, 'audit events not stored, the log has them'),
      );
    }
  }

  /** True when it was noted within the last minute; then it only counts. */
  function isRepeated(event: Audited): boolean {
    const key = [event.keyId, event.address, event.target, event.status].join(' ');
    const nowMs = clock.now().getTime();
    const before = denied.get(key);
    if (before && nowMs - before.sinceMs < repeatedWithinMs) {
      before.more += 1;
      return true;
    }
    denied.delete(key);
    if (before && before.more > 0) keep(before.event, before.more);
    denied.set(key, { sinceMs: nowMs, more: 0, event });
    if (denied.size > maxRemembered) forget(denied.keys().next().value!);
    return false;
  }

  function forget(key: string): void {
    const { event, more } = valueOf(denied, key);
    denied.delete(key);
    if (more > 0) keep(event, more);
  }

  return {
    note(event) {
      if (event.outcome === 'denied' && isRepeated(event)) return;
      keep(event, 1);
    },
    list: (query) => listAuditEvents(database, query),
    async close() {
      for (const key of [...denied.keys()]) forget(key);
      stop.abort();
      await writing;
    },
  };
}
