import { signal } from '@preact/signals';
import { texts } from './texts.ts';

/** What was just done, said in a live region for some seconds. */
export const message = signal('');

const shownMs = 6_000;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Whether what was said is also meant for the screen that comes next. */
let isForNext = false;

export function say(text: string, { forNextScreen = false } = {}): void {
  message.value = text;
  isForNext = forNextScreen;
  clearTimeout(timer);
  timer = setTimeout(() => (message.value = ''), shownMs);
}

/** What was said on a screen is over when it is left. */
export function leaveScreen(): void {
  if (!isForNext) message.value = '';
  isForNext = false;
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(texts.copied);
  } catch {
    say(texts.copyFailed);
  }
}
