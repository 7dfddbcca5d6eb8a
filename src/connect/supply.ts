import type { Supply } from './fetching.ts';

/** Joins the listing side and the fetching side of a run: one tells, the other waits. */
export function createSupply(): Supply & { added: () => void; end: () => void } {
  let fresh = false;
  let over = false;
  let wake: (() => void) | null = null;

  function notify(): void {
    fresh = true;
    wake?.();
    wake = null;
  }

  return {
    added: notify,
    end() {
      over = true;
      notify();
    },
    ended: () => over,
    async changed() {
      if (!fresh) await new Promise<void>((resolve) => (wake = resolve));
      fresh = false;
    },
  };
}
