import { createRandom } from '../../../src/connector-kit/setup.ts';
import { openEnvironment } from './environment.ts';
import { randomProgram, type ChaosStep, type Store } from './program.ts';

export interface ChaosOptions {
  /** Taken in turns. */
  stores: readonly Store[];
  programs: number;
  /** By `performance.now`. */
  until: number;
  seed: number;
  say(line: string): void;
}

export interface ChaosResult {
  programs: number;
  /** How often each trouble happened. */
  troubles: Map<string, number>;
  failure: string | null;
}

/** Programs of one environment: it grows old with them, as a daemon does. */
const programsTogether = 25;

/** Runs programs until there were enough of them, the time is over, or memory differs from a source. */
export async function runChaos({ stores, programs, until, seed, say }: ChaosOptions): Promise<ChaosResult> {
  const result: ChaosResult = { programs: 0, troubles: new Map(), failure: null };
  for (let round = 0; result.failure === null && result.programs < programs && performance.now() < until; round++) {
    const store = stores[round % stores.length]!;
    const own = seed + round;
    const random = createRandom(own);
    const environment = await openEnvironment(store);
    const history: ChaosStep[][] = [];
    try {
      for (let index = 0; index < programsTogether; index++) {
        if (result.programs >= programs || performance.now() >= until) break;
        const program = randomProgram(random, store);
        history.push(program);
        await environment.run(program);
        const wrong = await environment.settle();
        result.programs += 1;
        for (const step of program) result.troubles.set(step.do, (result.troubles.get(step.do) ?? 0) + 1);
        if (wrong.length === 0) continue;
        result.failure = `Program ${index + 1} of seed ${own} on ${store}:\n  ${wrong.join('\n  ')}\n${environment.output()}`;
        break;
      }
    } finally {
      await environment.close();
    }
    if (result.failure !== null) {
      const smallest = await shrink(store, history);
      result.failure += `\nThe smallest program that shows it: ${JSON.stringify(smallest)}`;
      say(result.failure);
    }
    say(`${result.programs} programs, ${result.failure === null ? 0 : 1} differences (seed ${own}, ${store}).`);
  }
  const counts = [...result.troubles]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`);
  say(`Steps: ${counts.join(', ')}.`);
  return result;
}

async function fails(store: Store, program: readonly ChaosStep[]): Promise<boolean> {
  const environment = await openEnvironment(store);
  try {
    await environment.run(program);
    return (await environment.settle()).length > 0;
  } finally {
    await environment.close();
  }
}

/** The last program alone if that is enough, else all that went before it; then without each step that is not needed. */
async function shrink(store: Store, history: readonly ChaosStep[][]): Promise<readonly ChaosStep[]> {
  const last = history.at(-1)!;
  const all = history.flat();
  let smallest = (await fails(store, last)) ? last : all;
  if (smallest === all && !(await fails(store, all))) return all;
  for (let size = Math.ceil(smallest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < smallest.length;) {
      const without = [...smallest.slice(0, start), ...smallest.slice(start + size)];
      if (without.length > 0 && (await fails(store, without))) smallest = without;
      else start += size;
    }
  }
  return smallest;
}
