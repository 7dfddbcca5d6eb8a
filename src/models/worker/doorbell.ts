/** Lets idle workers wait until there may be something to do. */
export interface Doorbell {
  /** Wakes all that wait. */
  ring(): void;
  /** Whether anybody waits. */
  isWatched(): boolean;
  /** Resolves at the next ring, or when `orElse` does. */
  wait(orElse: Promise<unknown>): Promise<void>;
}

export function createDoorbell(): Doorbell {
  const sleepers = new Set<() => void>();
  return {
    ring() {
      for (const wake of sleepers) wake();
    },
    isWatched: () => sleepers.size > 0,
    async wait(orElse) {
      const { promise, resolve } = Promise.withResolvers<void>();
      sleepers.add(resolve);
      await Promise.race([promise, orElse]);
      sleepers.delete(resolve);
    },
  };
}
