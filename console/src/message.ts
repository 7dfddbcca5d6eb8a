import { signal } from '@preact/signals';
import { texts } from './texts.ts';

/** What was just done, said in a live region for some seconds. */
export const message = signal('');

const shownMs = 6_000;
let timer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string): void {
  message.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (message.value = ''), shownMs);
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(texts.copied);
  } catch {
    say(texts.copyFailed);
  }
}
