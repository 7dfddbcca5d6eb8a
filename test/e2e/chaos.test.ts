import { expect, it } from 'vitest';
import { postgresPrograms } from '../support/chaos/own-postgres.ts';
import type { Store } from '../support/chaos/program.ts';
import { runChaos } from '../support/chaos/run.ts';
import { sized } from '../support/length.ts';
import { redisServerProgram } from '../support/redis-server.ts';

/** Servers of the test's own, which it may kill; where there are none, only the embedded store is tried. */
const hasServers = postgresPrograms !== undefined && redisServerProgram !== undefined;
const stores: Store[] = hasServers ? ['embedded', 'servers'] : ['embedded'];

it.each(stores)(
  'after any changes and troubles memory equals the sources (%s)',
  { timeout: 300_000 },
  async (store) => {
    const programs = sized(2, 10);
    const said: string[] = [];
    const say = (line: string) => void said.push(line);
    const result = await runChaos({ stores: [store], programs, until: Infinity, seed: 20_261_122, say });
    expect(result.failure, said.join('\n')).toBeNull();
    expect(result.programs).toBe(programs);
  },
);
