/**
 *     npm run attack -- [--requests 100000] [--bomb-size 1000000] [--slow-clients 50] [--seed N]
 *
 * Attacks a daemon of its own, started with default settings: every operation with every kind of key, requests made
 * from its description and broken in one place, hooks, the model context protocol, headers, bombs, nasty texts, and
 * slow clients all the while. Prints requests, statuses, the most memory that the daemon had, and how long `/health`
 * took at worst; an answer that is not expected is printed and ends it with 1. Nothing leaves this machine: the daemon
 * is started so that it reaches loopback alone, and what it tried is a fault. Ends by itself.
 */
import { runAttack } from './attack/run.ts';
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: {
    requests: { type: 'string', default: '100000' },
    'bomb-size': { type: 'string', default: '1000000' },
    'slow-clients': { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
  },
});
const numbers = [values.requests, values['bomb-size'], values['slow-clients'], values.seed].map(Number);
if (!numbers.every((number) => Number.isInteger(number) && number >= 0)) {
  console.error('--requests, --bomb-size, --slow-clients and --seed must be whole numbers.');
  process.exit(2);
}
const [requests, bombSize, slowClients, seed] = numbers as [number, number, number, number];
console.log(`seed ${seed}`);
const result = await runAttack({ requests, bombSize, slowClients, seed, say: (line) => console.log(line) });
const statuses = [...result.statuses].toSorted(([left], [right]) => left - right);
console.log(`${result.requests} requests: ${statuses.map(([status, count]) => `${status} ${count} times`).join(', ')}`);
const { p99, worst, samples, peakMb } = result;
console.log(`/health: p99 ${p99.toFixed(0)} ms, worst ${worst.toFixed(0)} ms of ${samples}`);
console.log(`most memory: ${peakMb === null ? 'unknown' : `${peakMb.toFixed(0)} MB`}`);
console.log(result.faults.length === 0 ? 'as expected' : `${result.faults.length} unexpected`);
process.exitCode = result.faults.length === 0 ? 0 : 1;
