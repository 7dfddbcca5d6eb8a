/**
 *     npm run fuzz:mirror -- [--minutes 10 | --programs 10000] [--engine pglite|postgres] [--connector NAME] [--seed N [--path P]]
 *
 * Runs random programs of edits, faults, crashes, frozen processes and clock jumps against the mirror, until
 * the time is over, so many have passed, or one fails. A failure prints its seed and how to see it again; with
 * `--seed` just that one is run, made smaller as long as it still fails. With `--connector` the programs are of that
 * connector and a stand-in of its source, without frozen processes.
 */
import { randomInt } from 'node:crypto';
import type fc from 'fast-check';
import { checkPrograms, type ProgramCheck } from '../test/support/check-programs.ts';
import { closeIdleDatabases, openTestDatabase } from '../test/support/databases.ts';
import { createProgramRunner, type ProgramRunner } from '../test/support/mirror-program.ts';
import { program } from '../test/support/mirror-steps.ts';
import { worldConnectors, type WorldConnectorName } from '../test/support/world-connectors.ts';
import { createWorldRunner } from '../test/support/world-program.ts';
import { worldProgram } from '../test/support/world-steps.ts';
import type { Database } from '../src/store/database.ts';
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: {
    minutes: { type: 'string', default: '10' },
    programs: { type: 'string' },
    engine: { type: 'string', default: 'pglite' },
    connector: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
});
const minutes = values.programs === undefined ? Number(values.minutes) : Infinity;
const wanted = Number(values.programs ?? Infinity);
const { engine, connector } = values;
if (!(minutes > 0) || !(wanted > 0) || (engine !== 'pglite' && engine !== 'postgres')) {
  stop('--minutes and --programs must be numbers above 0, and --engine pglite or postgres.');
}
if (connector !== undefined && !Object.hasOwn(worldConnectors, connector)) {
  stop(`--connector must be one of ${Object.keys(worldConnectors).join(', ')}.`);
}

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

/** The database is made anew after each: it grows with what programs leave in it. */
const programsAtOnce = 250;
let programs = 0;

/** One database, one seed. Answers false when a program failed. */
async function check(seed: number, count: number, path: string | undefined): Promise<boolean> {
  const opened = await openTestDatabase(engine as 'pglite' | 'postgres');
  const command = `npm run fuzz:mirror -- --engine ${engine}${connector === undefined ? '' : ` --connector ${connector}`}`;
  try {
    await checkAll(opened.database, {
      programs: count,
      seed,
      ...(path === undefined ? {} : { path }),
      shrink: values.seed !== undefined,
      replay: (failed, at) => `${command} --seed ${failed} --path ${at}`,
    });
    return true;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return false;
  } finally {
    await opened.close();
  }
}

async function checkAll(database: Database, asked: ProgramCheck): Promise<void> {
  if (connector === undefined) return checkWith(createProgramRunner(database), program, asked);
  const runner = createWorldRunner(database, worldConnectors[connector as WorldConnectorName]);
  return checkWith(runner, worldProgram, asked);
}

async function checkWith<Program>(
  runner: ProgramRunner<Program>,
  programs: fc.Arbitrary<Program>,
  asked: ProgramCheck,
): Promise<void> {
  try {
    await checkPrograms(programs, runner.run, asked);
  } finally {
    await runner.close();
  }
}

if (values.seed !== undefined) {
  process.exitCode = (await check(Number(values.seed), programsAtOnce, values.path)) ? 0 : 1;
  if (process.exitCode === 0) console.log('No program of this seed fails.');
} else {
  const end = performance.now() + minutes * 60_000;
  let well = true;
  while (well && programs < wanted && performance.now() < end) {
    const seed = randomInt(2 ** 31);
    const count = Math.min(programsAtOnce, wanted - programs);
    well = await check(seed, count, undefined);
    if (well) console.log(`${(programs += count)} programs passed (last seed ${seed}).`);
  }
  process.exitCode = well ? 0 : 1;
}
await closeIdleDatabases();
