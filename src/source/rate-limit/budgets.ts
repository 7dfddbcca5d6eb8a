import type { Clock } from '../../base/clock.ts';
import { MemorydError } from '../../base/errors.ts';
import { compileGlob, GlobProblem, type PathMatcher } from '../../base/glob.ts';
import { removeUnusedBudgets } from '../../store/budgets.ts';
import type { Database } from '../../store/database.ts';
import type { BudgetSpec, ConnectorSpec } from '../../connector/contract.ts';
import { createSharedBudget, type SharedBudget } from './shared-budget.ts';

/** Whose requests they are. */
interface BudgetOwner {
  provider: string;
  /** Names the connection; before there is one, the attempt to make it. */
  connection: string;
  /** The OAuth app or key that the provider counts by. */
  application: string;
}

/** The budgets that one request must fit into, and the name of its class in metrics. */
export interface RequestBudgets {
  budgets: readonly SharedBudget[];
  label: string;
}

/** The budgets of a connection with this configuration; an empty one has the defaults. */
export function limitsOf({ limits = [] }: Pick<ConnectorSpec, 'limits'>, config: unknown): readonly BudgetSpec[] {
  return typeof limits === 'function' ? limits(config) : limits;
}

/** For requests that match no declared budget: hardly a limit, but a place for the source's refusals. */
const undeclared: BudgetSpec = { match: '*', rate: 600_000, perMs: 60_000 };

const idleMs = 10 * 60_000;
const unusedMs = 7 * 24 * 60 * 60_000;
const sweepEveryMs = 60 * 60_000;

/** The budgets of this process, each of which it shares with other processes through the database. */
export function createBudgets(options: { database: Database; clock: Clock }) {
  const { database, clock } = options;
  const shared = new Map<string, SharedBudget>();
  let sweptAt = clock.now().getTime();

  function open(spec: BudgetSpec, owner: BudgetOwner): SharedBudget {
    const key = { scope: scopeOf(spec, owner), class: `${spec.quota ?? spec.match} per ${spec.perMs} ms` };
    // With another rate, e.g. because the configuration changed, it is counted anew here and goes on in the database.
    const name = `${key.scope} ${key.class} ${spec.rate}`;
    let budget = shared.get(name);
    if (!budget) shared.set(name, (budget = createSharedBudget({ database, clock, key, spec })));
    return budget.weighing(spec.weight ?? 1);
  }

  /** Which budgets a request belongs to. Throws `connector_invalid` for budgets that make no sense. */
  function matcher(limits: readonly BudgetSpec[], owner: BudgetOwner) {
    limits.forEach(checkSpec);
    const rules = limits.map((spec) => ({ spec, matches: globOf(spec.match) }));
    const kinds = new Map<string, RequestBudgets>();
    return (method: string, url: URL): RequestBudgets => {
      const target = `${method} ${url.host}${url.pathname}`;
      const matching = rules.map(({ matches }) => matches(target));
      const kind = matching.join();
      let found = kinds.get(kind);
      if (!found) {
        const specs = limits.filter((_, index) => matching[index]);
        kinds.set(kind, (found = openAll(specs.length > 0 ? specs : [undeclared], owner)));
      }
      return found;
    };
  }

  function openAll(specs: readonly BudgetSpec[], owner: BudgetOwner): RequestBudgets {
    const label = specs.find(({ match }) => match !== '*')?.match ?? '*';
    return { label, budgets: specs.map((spec) => open(spec, owner)) };
  }

  /** Forgets what was not used for long, here and in the database. At most once an hour. */
  async function sweep(): Promise<void> {
    const now = clock.now().getTime();
    if (now - sweptAt < sweepEveryMs) return;
    sweptAt = now;
    for (const [name, budget] of shared) {
      if (now - budget.lastUsedAt > idleMs && budget.queue.empty) shared.delete(name);
    }
    await removeUnusedBudgets(database, new Date(now - unusedMs));
  }

  return { matcher, sweep };
}

function scopeOf(spec: BudgetSpec, owner: BudgetOwner): string {
  return spec.per === 'application'
    ? `application:${owner.provider}:${owner.application}`
    : `connection:${owner.connection}`;
}

function checkSpec({ match, rate, perMs, weight = 1, reserve = 0 }: BudgetSpec): void {
  const whole = [rate, perMs, weight].every((one) => Number.isInteger(one) && one >= 1);
  if (whole && weight <= rate && reserve >= 0 && reserve < 1) return;
  throw new MemorydError(
    'connector_invalid',
    `The connector's budget for ${match} makes no sense: rate, perMs and weight are whole numbers from 1, ` +
      'weight is at most rate, and reserve is a share below 1.',
  );
}

function globOf(match: string): PathMatcher {
  if (match === '*') return () => true;
  try {
    return compileGlob(match);
  } catch (error) {
    if (!(error instanceof GlobProblem)) throw error;
    throw new MemorydError('connector_invalid', `The connector's budget for ${match} ${error.message}.`);
  }
}
