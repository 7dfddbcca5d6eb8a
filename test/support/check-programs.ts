import fc from 'fast-check';

export interface ProgramCheck {
  programs: number;
  seed: number;
  path?: string;
  shrink: boolean;
  replay(seed: number, path: string): string;
}

/** Checks programs of one seed. Throws what failed, with what is needed to see it again. */
export async function checkPrograms<Program>(
  program: fc.Arbitrary<Program>,
  run: (one: Program) => Promise<void>,
  { programs, seed, path, shrink, replay }: ProgramCheck,
): Promise<void> {
  const result = await fc.check(fc.asyncProperty(program, run), {
    numRuns: programs,
    seed,
    endOnFailure: !shrink,
    ...(path === undefined ? {} : { path }),
  });
  if (!result.failed) return;
  const [counterexample] = result.counterexample ?? [];
  const reason = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
  throw new Error(
    [
      `Program ${result.numRuns} of seed ${seed} failed: ${reason}`,
      `The program: ${JSON.stringify(counterexample)}`,
      `See it again: ${replay(seed, result.counterexamplePath ?? '')}`,
    ].join('\n'),
    { cause: result.errorInstance },
  );
}
