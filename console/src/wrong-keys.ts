import { signal } from '@preact/signals';
import { call } from './api.ts';
import type { Answer } from './types.ts';

type AuditEvent = Answer<'GET /v3/audit'>['events'][number];
export type WrongKeys = Answer<'GET /v3/audit/wrong-keys'>;

/** Where the browser keeps until when the log was looked at, as the daemon's clock told it. */
const seenMark = 'memoryd-wrong-keys-seen';
const seenUntil = signal(localStorage.getItem(seenMark) ?? '');

/** Those of the last day that nobody has looked at in this browser. */
export function readWrongKeys(signal: AbortSignal): Promise<WrongKeys> {
  const query = seenUntil.value === '' ? {} : { since: seenUntil.value };
  return call('GET /v3/audit/wrong-keys', { query, signal });
}

/** Somebody looks at what was refused, so that it need not be told of any more. */
export function noteSeen(events: readonly Pick<AuditEvent, 'at'>[]): void {
  const latest = events.reduce((last, { at }) => (at > last ? at : last), seenUntil.value);
  seenUntil.value = latest;
  localStorage.setItem(seenMark, latest);
}
