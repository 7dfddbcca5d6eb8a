/** One body on its way. */
export interface HeldBody {
  /** Counts what has arrived of it. */
  add(bytes: number): void;
  /** It is gone, worked on or refused. Harmless a second time. */
  release(): void;
}

/** Bounds the memory that all bodies take together before anybody knows who sends them. */
export interface HeldBytes {
  /** `refuse` is called when there is no room any more and this body is the largest. */
  open(refuse: () => void): HeldBody;
}

export function createHeldBytes(maxBytes: number): HeldBytes {
  const sizes = new Map<() => void, number>();
  let total = 0;

  function drop(refuse: () => void): void {
    total -= sizes.get(refuse) ?? 0;
    sizes.delete(refuse);
  }

  /** The largest goes: many that are large must not push out those that are as hooks are. */
  function makeRoom(): void {
    while (total > maxBytes) {
      const [largest] = [...sizes].reduce((left, right) => (right[1] > left[1] ? right : left));
      drop(largest);
      largest();
    }
  }

  return {
    open(refuse) {
      sizes.set(refuse, 0);
      return {
        add(bytes) {
          const size = sizes.get(refuse);
          if (size === undefined) return;
          sizes.set(refuse, size + bytes);
          total += bytes;
          makeRoom();
        },
        release: () => drop(refuse),
      };
    },
  };
}
