import { signal } from '@preact/signals';
import { call } from './api.ts';
import type { Answer } from './types.ts';
import { wrongKeysOf, type WrongKeys } from './wrong-keys-of.ts';

type AuditEvent = Answer<'GET /v3/audit'>['events'][number];

/** Of each kind; where there are more, the log itself has them. */
const mostEvents = 200;

/** Where the browser keeps until when the log was looked at, as the daemon's clock told it. */
const seenMark = 'memoryd-wrong-keys-seen';
const seenUntil = signal(localStorage.getItem(seenMark) ?? '');

/** Keys of programs and those of sign-ins that were refused. */
async function readRefusals(signal?: AbortSignal): Promise<AuditEvent[]> {
  const read = async (query: { action: string; outcome?: 'denied' }) =>
    (await call('GET /v3/audit', { query: { ...query, limit: mostEvents }, signal })).events;
  const [ofPrograms, ofSignIns] = await Promise.all([
    read({ action: 'key.wrong' }),
    read({ action: 'console.sign-in', outcome: 'denied' }),
  ]);
  return [...ofPrograms, ...ofSignIns];
}

/** Those of the last day that nobody has looked at in this browser. */
export async function readWrongKeys(signal: AbortSignal): Promise<WrongKeys> {
  return wrongKeysOf(await readRefusals(signal), { now: new Date(), seenUntil: seenUntil.value });
}

/** Somebody looks at what was refused, so that it need not be told of any more. */
export function noteSeen(events: readonly Pick<AuditEvent, 'at'>[]): void {
  const latest = events.reduce((last, { at }) => (at > last ? at : last), seenUntil.value);
  seenUntil.value = latest;
  localStorage.setItem(seenMark, latest);
}
