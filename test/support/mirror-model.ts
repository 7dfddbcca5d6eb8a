import { randomInt } from 'node:crypto';
import type fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { checkPrograms } from './check-programs.ts';
import { mainEngine, openTestDatabase, type Engine, type TestDatabase } from './databases.ts';
import { createProgramRunner, type ProgramRunner } from './mirror-program.ts';
import { program } from './mirror-steps.ts';
import { worldConnectors, type WorldConnectorName } from './world-connectors.ts';
import { createWorldRunner } from './world-program.ts';
import { worldProgram } from './world-steps.ts';
import type { Database } from '../../src/store/database.ts';

/** An hour: MIRROR_PROGRAMS can ask for many. */
const timeout = 3_600_000;

interface ModelTest<Program> {
  title: string;
  engine: Engine;
  program: fc.Arbitrary<Program>;
  createRunner(database: Database): ProgramRunner<Program>;
  programs: number;
  seed: number;
  /** The test file, for the message that says how to see a failure again. */
  file: string;
}

/**
 * A model test: random programs, after each of which memory must equal the source. `MIRROR_PROGRAMS` says how many
 * instead of `programs`, `MIRROR_SEED` and `MIRROR_PATH` which ones, and `MIRROR_SHRINK=1` asks for a small program
 * that fails.
 */
function testPrograms<Program>(test: ModelTest<Program>): void {
  const { MIRROR_PROGRAMS, MIRROR_SEED, MIRROR_PATH, MIRROR_SHRINK } = process.env;
  describe(test.title, () => {
    let opened: TestDatabase;
    let runner: ProgramRunner<Program>;
    beforeAll(async () => {
      opened = await openTestDatabase(test.engine);
      runner = test.createRunner(opened.database);
    }, 60_000);
    afterAll(async () => {
      await runner.close();
      await opened.close();
    });

    it('memory equals the source after the last successful sync, whatever happened before', { timeout }, () =>
      checkPrograms(test.program, runner.run, {
        programs: Number(MIRROR_PROGRAMS ?? test.programs),
        seed: Number(MIRROR_SEED ?? test.seed),
        ...(MIRROR_PATH === undefined ? {} : { path: MIRROR_PATH }),
        shrink: MIRROR_SHRINK !== undefined,
        replay: (seed, path) => `MIRROR_SEED=${seed} MIRROR_PATH=${path} npx vitest run test/integration/${test.file}`,
      }),
    );
  });
}

/** The mirror's core, over a source in memory; other programs in each run. */
export function testMirrorModel(engine: Engine, { programs, file }: { programs: number; file: string }): void {
  const title = `the mirror on ${engine}`;
  testPrograms({ title, engine, program, createRunner: createProgramRunner, programs, file, seed: randomInt(2 ** 31) });
}

/** A connector with its world; the same programs in each run. `npm run fuzz:mirror` draws others. */
export function testWorldModel(name: WorldConnectorName, { programs, file }: { programs: number; file: string }): void {
  testPrograms({
    title: `the mirror of ${name}`,
    engine: mainEngine,
    program: worldProgram,
    createRunner: (database) => createWorldRunner(database, worldConnectors[name]),
    ...{ programs, file, seed: 20_261_123 },
  });
}
