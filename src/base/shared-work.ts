/**
 * Work that several callers share, such as a statement that reads for all of them. Who comes while it runs shares the
 * next run, which begins after they came and has the wishes of all of them.
 */
export function sharedWork<Wish, Result>(
  work: (wishes: Wish[]) => Promise<Result>,
): (...wishes: readonly Wish[]) => Promise<Result> {
  let running: Promise<Result> | undefined;
  let next: { wishes: Wish[]; result: Promise<Result> } | undefined;

  function run(wishes: Wish[]): Promise<Result> {
    const mine = work(wishes).finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  function after(before: Promise<Result>): { wishes: Wish[]; result: Promise<Result> } {
    const wishes: Wish[] = [];
    const start = () => {
      next = undefined;
      return run(wishes);
    };
    return { wishes, result: before.then(start, start) };
  }

  return (...wishes) => {
    if (running === undefined) return run([...wishes]);
    next ??= after(running);
    next.wishes.push(...wishes);
    return next.result;
  };
}
