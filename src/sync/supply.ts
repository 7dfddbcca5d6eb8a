/** Tells the fetching side of a run that there may be more to claim, and that nothing will be added any more. */
export interface Supply {
  /** Resolves when pages were added since the last call, or the supply ended. */
  changed(): Promise<void>;
  ended(): boolean;
}

/** Joins the listing side and the fetching side: one tells, the other waits. */
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

/** A supply that is complete and will not grow. */
export const endedSupply: Supply = { changed: async () => {}, ended: () => true };
