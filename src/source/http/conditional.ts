import { present } from '../../base/collections.ts';
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../store/database.ts';
import { readValidators, removeAnswer, saveAnswer, takeAnswer, trimAnswers } from '../../store/http-answers.ts';
import type { HttpAnswer } from './transport.ts';

/** The answers of one connection that its source is asked again about with their validators (RFC 9110 section 13). */
export interface KeptAnswers {
  /** The headers that make a request conditional; null when no answer is kept. */
  validators(key: string): Promise<Record<string, string> | null>;
  /** The kept answer for a 304, with the headers that came with it; null when it was removed meanwhile. */
  revalidated(key: string, answer: HttpAnswer): Promise<HttpAnswer | null>;
  /** Keeps a 200, or forgets an older answer when this one cannot be kept. */
  keep(key: string, answer: HttpAnswer, replaces: boolean): Promise<void>;
}

const maxBodyBytes = 256 * 1024;
const maxConnectionBytes = 16 * 1024 * 1024;
const maxConnectionAnswers = 2_000;
/** One of so many saves also trims. */
const trimEvery = 16;
/** Headers that a connector reads besides the body. */
const keptHeaders = ['content-type', 'link', 'etag', 'last-modified'];

export function createKeptAnswers(options: {
  database: Database;
  clock: Clock;
  connectionId: string;
  random: () => number;
}): KeptAnswers {
  const { database, clock, connectionId, random } = options;

  return {
    async validators(key) {
      const row = await readValidators(database, { connectionId, key });
      if (!row) return null;
      return present({ 'if-none-match': row.etag ?? undefined, 'if-modified-since': row.lastModified ?? undefined });
    },
    async revalidated(key, answer) {
      const row = await takeAnswer(database, { connectionId, key }, clock.now());
      return row && { ...answer, headers: { ...row.headers, ...answer.headers }, bytes: row.body };
    },
    async keep(key, { headers, bytes }, replaces) {
      const etag = headers['etag'] ?? null;
      const lastModified = headers['last-modified'] ?? null;
      const forbidden = /\bno-store\b/i.test(headers['cache-control'] ?? '');
      if ((etag === null && lastModified === null) || forbidden || bytes.length > maxBodyBytes) {
        if (replaces) await removeAnswer(database, { connectionId, key });
        return;
      }
      const kept = Object.fromEntries(keptHeaders.flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])));
      await saveAnswer(
        database,
        { connectionId, key },
        { etag, lastModified, headers: kept, body: bytes, now: clock.now() },
      );
      if (random() * trimEvery >= 1) return;
      await trimAnswers(database, connectionId, { maxBytes: maxConnectionBytes, maxCount: maxConnectionAnswers });
    },
  };
}

/** Names a request without saying anything of it: addresses can hold secrets. */
export function answerKey(method: string, url: URL, headers: Record<string, string>): string {
  const sorted = Object.entries(headers).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([method, url.href, sorted]))
    .digest('base64');
}
