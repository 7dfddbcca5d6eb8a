/**
 *     npm run chaos -- [--minutes 10 | --programs N] [--store embedded,servers] [--seed N]
 *
 * Runs random programs of changes and troubles against real daemons: a folder, mail in Dovecot, a stand-in for GitHub
 * and the API, with daemons that are killed and frozen past their leases, Redis flushed, servers restarted, networks
 * cut, disks filled and clocks moved. After each of them memory must equal the sources. Prints seeds and counts; a
 * difference prints the smallest program that shows it, and ends with 1. `servers` needs redis-server, and PG_BIN for
 * the programs of PostgreSQL (with pgvector); nothing but loopback is used, and no server that others use.
 */
import { runChaos } from '../test/support/chaos/run.ts';
import { newSeed } from '../test/support/chaos/environment.ts';
import type { Store } from '../test/support/chaos/program.ts';
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: {
    minutes: { type: 'string', default: '10' },
    programs: { type: 'string' },
    store: { type: 'string', default: 'embedded,servers' },
    seed: { type: 'string' },
  },
});
const stores = values.store.split(',') as Store[];
const isKnown = stores.every((store) => store === 'embedded' || store === 'servers');
const minutes = values.programs === undefined ? Number(values.minutes) : Infinity;
const programs = Number(values.programs ?? Infinity);
if (!isKnown || !(minutes > 0) || !(programs > 0)) {
  console.error('--store must be embedded, servers or both, --minutes and --programs numbers above 0.');
  process.exit(2);
}
const result = await runChaos({
  stores,
  programs,
  until: performance.now() + minutes * 60_000,
  seed: values.seed === undefined ? newSeed() : Number(values.seed),
  say: (line) => console.log(line),
});
process.exitCode = result.failure === null ? 0 : 1;
