import { computed, signal } from '@preact/signals';
import { ApiError, call, csrfToken, onSignedOut } from './api.ts';
import type { ConsoleSession, Session } from './types.ts';

/** Undefined until it is known whether somebody is signed in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether a session ended by itself, which the sign-in screen then says. */
export const hasExpired = signal(false);

export const mayWrite = computed(() => session.value?.scope.permission === 'write');
/** What belongs to the whole daemon is shown to full keys only. */
export const isFull = computed(() => session.value?.scope.type === 'full');
/** Keys, sources and namespaces belong to the whole daemon: only a full key manages them. */
export const mayManage = computed(() => mayWrite.value && isFull.value);

/** That this browser signed in before; the cookie itself is not for scripts to see. */
const signedInMark = 'memoryd-signed-in';

function begin({ csrf, session: begun }: ConsoleSession): void {
  csrfToken.value = csrf;
  hasExpired.value = false;
  session.value = begun;
  localStorage.setItem(signedInMark, 'yes');
}

function end(): void {
  session.value = null;
  csrfToken.value = '';
  localStorage.removeItem(signedInMark);
}

onSignedOut.call = () => {
  // Several requests are refused at once; only the first of them finds a session.
  if (session.value) hasExpired.value = true;
  end();
};

/** Takes up the session of the cookie, where there is one. */
export async function resume(): Promise<void> {
  if (localStorage.getItem(signedInMark) === null) {
    session.value = null;
    return;
  }
  try {
    begin(await call<ConsoleSession>('GET', '/console/session', { isSignIn: true }));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) end();
    else session.value = null;
  }
}

export async function signIn(proof: { key: string } | { link: string }): Promise<void> {
  begin(await call<ConsoleSession>('POST', '/console/session', { body: proof, isSignIn: true }));
}

export async function signOut(): Promise<void> {
  await call('DELETE', '/console/session', { isSignIn: true }).catch(() => undefined);
  end();
  hasExpired.value = false;
}
