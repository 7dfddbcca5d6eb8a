import type { Screen } from './context.ts';
import { truncate } from './text.ts';

/** A line at the bottom of the terminal that is written over; plain lines where there is no terminal. */
export interface StatusLine {
  /** It is written over; else each `show` is a line of its own. */
  readonly live: boolean;
  show(text: string): void;
  clear(): void;
  /** Writes other text above the line. */
  above(text: string): void;
}

const eraseLine = '\r\u001b[2K';

export function createStatusLine(screen: Screen): StatusLine {
  let shown = '';
  const draw = () => screen.write(truncate(shown, screen.columns - 1));
  return {
    live: screen.isTTY,
    show(text) {
      if (!screen.isTTY) return screen.write(`${text}\n`);
      if (shown !== '') screen.write(eraseLine);
      shown = text;
      draw();
    },
    clear() {
      if (shown === '') return;
      shown = '';
      screen.write(eraseLine);
    },
    above(text) {
      if (shown === '') return screen.write(text);
      screen.write(eraseLine);
      screen.write(text);
      draw();
    },
  };
}
