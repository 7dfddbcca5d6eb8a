import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { openTestDatabase, type Engine, type TestDatabase } from './databases.ts';
import { checkPrograms, createProgramRunner, type ProgramRunner } from './mirror-program.ts';

/** An hour: MIRROR_PROGRAMS can ask for many. */
const timeout = 3_600_000;

/**
 * The model test of the mirror on one engine. `MIRROR_PROGRAMS` says how many programs instead of
 * `programs`, `MIRROR_SEED` and `MIRROR_PATH` which ones, and `MIRROR_SHRINK=1` asks for a small
 * program that fails. `file` is the test file, for the message that says how to see a failure again.
 */
export function testMirrorModel(engine: Engine, { programs, file }: { programs: number; file: string }): void {
  const { MIRROR_PROGRAMS, MIRROR_SEED, MIRROR_PATH, MIRROR_SHRINK } = process.env;
  describe(`the mirror on ${engine}`, () => {
    let opened: TestDatabase;
    let runner: ProgramRunner;
    beforeAll(async () => {
      opened = await openTestDatabase(engine);
      runner = createProgramRunner(opened.database);
    }, 60_000);
    afterAll(async () => {
      await runner.close();
      await opened.close();
    });

    it('whatever happens meanwhile, after the last successful sync memory equals the source', { timeout }, () =>
      checkPrograms(runner, {
        programs: Number(MIRROR_PROGRAMS ?? programs),
        seed: MIRROR_SEED === undefined ? randomInt(2 ** 31) : Number(MIRROR_SEED),
        ...(MIRROR_PATH === undefined ? {} : { path: MIRROR_PATH }),
        shrink: MIRROR_SHRINK !== undefined,
        replay: (seed, path) => `MIRROR_SEED=${seed} MIRROR_PATH=${path} npx vitest run test/integration/${file}`,
      }),
    );
  });
}
