import { batch, computed, signal } from '@preact/signals';
import { ApiError, call, csrfToken, onSignedOut, returns } from './api.ts';
import type { ConsoleSession, Session } from './types.ts';

/** Undefined until it is known whether somebody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether a session ended by itself, which the sign-in screen then says. */
export const hasExpired = signal(false);

/** Whose time ran out: their screen stays, unseen, with what they had typed, until they or somebody else signs in. */
export const awaited = signal<Session | null>(null);
/** Counts those who signed in, but not whoever came back. */
export const visit = signal(0);

const shown = computed(() => session.value ?? awaited.value);
export const mayWrite = computed(() => shown.value?.scope.permission === 'write');
/** What belongs to the whole daemon is shown to full keys only. */
export const isFull = computed(() => shown.value?.scope.type === 'full');
/** Keys, sources and namespaces belong to the whole daemon: only a full key manages them. */
export const mayManage = computed(() => mayWrite.value && isFull.value);

/** How this browser stands: `signed in` or `expired`, none before and after. The cookie itself is not for scripts to see. */
const mark = 'memoryd-session';

/** When the session ends by itself. */
let endsAt = Infinity;

function begin({ csrf, session: begun, expiresAt }: ConsoleSession): void {
  const isBack = JSON.stringify(begun) === JSON.stringify(awaited.value);
  endsAt = Date.parse(expiresAt);
  batch(() => {
    csrfToken.value = csrf;
    hasExpired.value = false;
    session.value = begun;
    awaited.value = null;
    if (isBack) returns.value += 1;
    else visit.value += 1;
  });
  localStorage.setItem(mark, 'signed in');
}

function end(): void {
  session.value = null;
  csrfToken.value = '';
}

/** The clock of the browser is not that of the daemon. */
const clocksDifferMs = 600_000;

/** Is still said when the page is loaded again. A session that somebody ended leaves nothing behind in the page. */
function expire(): void {
  const isTimeUp = new Date().getTime() > endsAt - clocksDifferMs;
  batch(() => {
    hasExpired.value = true;
    awaited.value = (isTimeUp && session.value) || null;
    end();
  });
  localStorage.setItem(mark, 'expired');
}

// Several requests are refused at once; only the first of them finds a session.
onSignedOut.call = () => session.value && expire();
// Somebody signed in in another tab, maybe by a link.
addEventListener('storage', () => session.value === null && void resume());

/** Takes up the session of the cookie, where there is one. */
export async function resume(): Promise<void> {
  const known = localStorage.getItem(mark);
  hasExpired.value = known === 'expired';
  if (known !== 'signed in') return end();
  try {
    begin(await call('GET /console/session', { isSignIn: true }));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) expire();
    else session.value = null;
  }
}

export async function signIn(proof: { key: string } | { link: string }): Promise<void> {
  begin(await call('POST /console/session', { body: proof, isSignIn: true }));
}

export async function signOut(): Promise<void> {
  await call('DELETE /console/session', { isSignIn: true }).catch(() => undefined);
  leave();
}

/** Throws where it fails: somebody who lost a device must know. */
export async function signOutEverywhere(): Promise<void> {
  await call('DELETE /console/sessions');
  leave();
}

function leave(): void {
  end();
  hasExpired.value = false;
  localStorage.removeItem(mark);
}
