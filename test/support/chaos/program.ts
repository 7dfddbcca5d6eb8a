import type { Random } from '../../../src/connector-kit/setup.ts';

export const worldNames = ['folder', 'imap', 'files', 'issues', 'api'] as const;
export type WorldName = (typeof worldNames)[number];
export const serverNames = ['imap', 'github', 'postgres', 'redis'] as const;
export type ServerName = (typeof serverNames)[number];

/** What happens to the sources, to the servers, and to the daemon. */
export type ChaosStep =
  | { do: 'create' | 'edit'; world: WorldName; name: string; text: string }
  | { do: 'remove' | 'move'; world: WorldName; name: string }
  | { do: 'rename'; world: WorldName; name: string; title: string }
  | { do: 'sync'; world: WorldName; full: boolean }
  | { do: 'pause'; ms: number }
  /** SIGKILL, and a new start. */
  | { do: 'kill' }
  /** SIGSTOP for longer than any lease; where the store is on servers, another daemon takes over meanwhile. */
  | { do: 'freeze'; ms: number }
  | { do: 'cut' | 'restart'; server: ServerName; ms: number }
  /** Redis forgets everything. */
  | { do: 'flush' }
  /** The disk of the store is full. */
  | { do: 'fill disk'; ms: number }
  | { do: 'move clock'; ms: number }
  /** The folder is not there, as when its disk is not mounted. */
  | { do: 'unmount'; ms: number };

export type Store = 'embedded' | 'servers';

const names = ['one', 'two', 'three', 'four', 'five', 'six'];
const words = ['amber', 'boat', 'copper', 'drift', 'ember', 'fern', 'grain', 'harbour'];
const clockJumps = [61_000, 700_000, 5 * 3_600_000, -90_000];

/** Two to four changes, with a trouble or two among them. */
export function randomProgram(random: Random, store: Store): ChaosStep[] {
  const steps: ChaosStep[] = [];
  const count = 3 + random.below(5);
  for (let index = 0; index < count; index++) steps.push(randomChange(random));
  for (let troubles = 1 + random.below(2); troubles > 0; troubles--) {
    steps.splice(random.below(steps.length + 1), 0, randomTrouble(random, store));
  }
  return steps;
}

function randomChange(random: Random): ChaosStep {
  const world = random.pick(worldNames);
  const name = random.pick(names);
  const kind = random.below(20);
  const text = `${name} in ${world}: ${Array.from({ length: 6 }, () => random.pick(words)).join(' ')} ${random.below(1e6)}.`;
  if (kind < 5) return { do: 'create', world, name, text };
  if (kind < 9) return { do: 'edit', world, name, text };
  if (kind < 11) return { do: 'remove', world, name };
  if (kind < 13) return { do: 'move', world, name };
  if (kind < 14) return { do: 'rename', world, name, title: `${name} ${random.pick(words)} ${random.below(1e6)}` };
  if (kind < 18) return { do: 'sync', world, full: random.chance(0.3) };
  return { do: 'pause', ms: random.below(400) };
}

function randomTrouble(random: Random, store: Store): ChaosStep {
  const ms = 100 + random.below(700);
  const servers = store === 'servers' ? serverNames : (['imap', 'github'] as const);
  const kind = random.below(store === 'servers' ? 16 : 14);
  if (kind < 3) return { do: 'kill' };
  if (kind < 5) return { do: 'freeze', ms };
  if (kind < 8) return { do: 'cut', server: random.pick(servers), ms };
  if (kind < 10) return { do: 'restart', server: random.pick(servers), ms };
  if (kind < 12) return { do: 'move clock', ms: random.pick(clockJumps) };
  if (kind < 13) return { do: 'unmount', ms };
  if (kind < 14) return { do: 'fill disk', ms };
  return { do: 'flush' };
}
