import type { Connector } from '../connector/contract.ts';
import type { RunSettings } from '../sync/run.ts';
import type { Harness } from './harness.ts';
import type { World } from './world.ts';

/** Facts by which checks decide whether they apply. */
export interface Subject {
  connector: Connector<any, any>;
  /** One world, to see what it can do. */
  world: World;
  /** Requests that a sync may take, if the author of the connector says so. */
  requests: RequestBudget | undefined;
  /** Items are pushed, nobody asks for them. */
  isPushed: boolean;
  /** Items of a large source. */
  manyItems: number;
  /** Of the places at which a sync can be broken, those that are tried. */
  places: 'every' | 'some';
}

/** At most so many requests for a sync of a source with `items` items, of which `changed` changed since the last one. */
export type RequestBudget = (source: { items: number; changed: number }) => number;

/** One check, or one case of it. */
export interface Check {
  /** The number of the check in the documentation. */
  number: number;
  /** Names the case, in one word; several cases of a check have different ones. */
  name: string;
  /** The guarantee, as a sentence. */
  title: string;
  /** False for connectors of another kind, as their own description says: nobody has to list it as not applied. */
  concerns?(subject: Subject): boolean;
  /** Why it does not apply; undefined when it does. */
  missing?(subject: Subject): string | undefined;
  /** Throws `CheckFailed`. */
  run(harness: Harness, subject: Subject): Promise<void>;
  /** Pages of the source. Default `small`. */
  pages?: 'small' | 'full';
  timeoutMs?: number;
  settings?: Partial<RunSettings>;
}

/** `4 crash`: how a case is named where checks are listed. */
export function keyOf(check: Check): string {
  return `${check.number} ${check.name}`;
}

/** Joins reasons: the first that there is. */
export function firstOf(...reasons: (string | undefined | false)[]): string | undefined {
  return reasons.find((reason): reason is string => typeof reason === 'string');
}

/** For checks about how the daemon asks a source. */
export const needsAsking = ({ isPushed }: Subject): string | undefined =>
  isPushed ? 'its items are pushed, the daemon asks for nothing' : undefined;

export const needsWorld = (world: World, method: keyof World): string | undefined =>
  world[method] === undefined ? `the world has no \`${method}\`` : undefined;

export const needsVerb = (connector: Connector<any, any>, verb: keyof Connector): string | undefined =>
  connector[verb] === undefined ? `the connector has no \`${verb}\`` : undefined;

/** The world of the harness, for a check whose `missing` made sure that it has these. */
export function worldWith<Name extends keyof World>({ world }: Harness, ...names: Name[]): WorldWith<Name> {
  if (has(world, names)) return world;
  throw new Error(`The check needs ${names.join(' and ')} of the world, and its \`missing\` does not say so.`);
}

type WorldWith<Name extends keyof World> = World & Required<Pick<World, Name>>;

function has<Name extends keyof World>(world: World, names: readonly Name[]): world is WorldWith<Name> {
  return names.every((name) => world[name] !== undefined);
}
