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

function begin({ csrf, session: begun }: ConsoleSession): void {
  csrfToken.value = csrf;
  hasExpired.value = false;
  session.value = begun;
}

onSignedOut.call = () => {
  hasExpired.value = session.value !== null && session.value !== undefined;
  session.value = null;
};

/** Takes up the session of the cookie, where there is one. */
export async function resume(): Promise<void> {
  try {
    begin(await call<ConsoleSession>('GET', '/console/session', { isSignIn: true }));
  } catch (error) {
    session.value = null;
    if (!(error instanceof ApiError)) throw error;
  }
}

export async function signIn(proof: { key: string } | { link: string }): Promise<void> {
  begin(await call<ConsoleSession>('POST', '/console/session', { body: proof, isSignIn: true }));
}

export async function signOut(): Promise<void> {
  await call('DELETE', '/console/session', { isSignIn: true }).catch(() => undefined);
  session.value = null;
  csrfToken.value = '';
}
