import { signal } from '@preact/signals';
import { call } from './api.ts';
import type { Answer } from './types.ts';
import { wrongKeysOf, type WrongKeys } from './wrong-keys-of.ts';

type AuditEvent = Answer<'GET /v3/audit'>['events'][number];

/** Of what was denied; where there is more, the log itself has it. */
const mostEvents = 200;
/** A program tried a key that nobody has, or somebody at the console's first page did. */
const ofWrongKeys: readonly string[] = ['key.wrong', 'console.sign-in'];

/** Where the browser keeps until when the log was looked at, as the daemon's clock told it. */
const seenMark = 'memoryd-wrong-keys-seen';
const seenUntil = signal(localStorage.getItem(seenMark) ?? '');

/** Those of the last day that nobody has looked at in this browser. */
export async function readWrongKeys(signal: AbortSignal): Promise<WrongKeys> {
  const { events } = await call('GET /v3/audit', { query: { outcome: 'denied', limit: mostEvents }, signal });
  const refusals = events.filter(({ action }) => ofWrongKeys.includes(action));
  return wrongKeysOf(refusals, { now: new Date(), seenUntil: seenUntil.value });
}

/** Somebody looks at what was refused, so that it need not be told of any more. */
export function noteSeen(events: readonly Pick<AuditEvent, 'at'>[]): void {
  const latest = events.reduce((last, { at }) => (at > last ? at : last), seenUntil.value);
  seenUntil.value = latest;
  localStorage.setItem(seenMark, latest);
}
