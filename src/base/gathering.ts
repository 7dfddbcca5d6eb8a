import { paired } from './collections.ts';

interface GatheringOptions<Input, Result> {
  /** One result per input, in order, or a failure of all of them. */
  run(inputs: readonly Input[]): Promise<Result[]>;
  /** Whether a failure may be the fault of one input alone: then each is tried by itself. */
  isOfOne?(error: unknown): boolean;
  /** Inputs of one piece of work. */
  most: number;
}

interface Waiting<Input, Result> {
  input: Input;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes one piece of work of what arrives while the one before is under way: a hundred small requests cost a
 * few transactions instead of a hundred. Nothing waits when nothing is under way. Order of arrival is kept.
 */
export function createGathering<Input, Result>(options: GatheringOptions<Input, Result>) {
  const waiting: Waiting<Input, Result>[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) await runSome(waiting.splice(0, options.most));
    isRunning = false;
  }

  async function runSome(some: Waiting<Input, Result>[]): Promise<void> {
    try {
      const results = await options.run(some.map(({ input }) => input));
      for (const [{ resolve }, result] of paired(some, results)) resolve(result);
    } catch (error) {
      if (some.length > 1 && options.isOfOne?.(error)) for (const one of some) await runSome([one]);
      else for (const { reject } of some) reject(error);
    }
  }

  return function add(input: Input): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      if (!isRunning) void runAll();
    });
  };
}
