import fc from 'fast-check';

const names = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const changeKinds = ['rename', 'trash', 'restore', 'revoke', 'grant', 'leave', 'enter'] as const;

/** Changes at the source. What it cannot do, or what does not exist at that moment, is left out. */
export type Change = ItemChange | Move | ContainerChange;

export interface ItemChange {
  kind: 'put' | 'remove' | (typeof changeKinds)[number];
  name: string;
}

/** Into one of two containers, or resources. */
export interface Move {
  kind: 'move' | 'choose';
  name: string;
  place: 0 | 1;
}

export interface ContainerChange {
  kind: 'rename-container' | 'remove-container';
  place: 0 | 1;
}

export type Poisoning = { kind: 'poison'; name: string } | { kind: 'cure'; name: string };

const troubles = [
  // The daemon is stopped in order.
  'stop',
  // One request fails, or each from there on.
  ...['fail', 'fail-on', 'reset', 'truncate', 'limit', 'refuse'],
] as const;
// The source forgets positions, or leaves items out of listings without a word.
const hidings = ['expire', 'leave-out'] as const;

/** At the request with this number, or from there on. */
export type Trouble =
  { at: number; what: (typeof troubles | typeof hidings)[number] } | { at: number; what: 'change'; change: Change };

export interface Sync {
  full: boolean;
  troubles: Trouble[];
  /** The process dies there: at a request, an answer or a statement, counted from 1 through all of them. */
  killAt: number | null;
}

export type Step =
  | Change
  | { kind: 'expire' }
  | Poisoning
  | { kind: 'wait'; ms: number }
  | { kind: 'select'; places: (0 | 1)[] }
  | ({ kind: 'sync' } & Sync);

export interface WorldProgram {
  /** What is mirrored before anything happens. */
  mirrored: string[];
  steps: Step[];
}

const kind = <Kind extends string>(name: Kind) => fc.constant(name);
const name = fc.constantFrom<string>(...names);
const place = fc.constantFrom<0 | 1>(0, 1);
const at = (max: number) => fc.integer({ min: 1, max });

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: kind('put'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('remove'), name }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constantFrom(...changeKinds), name }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('move' as const, 'choose' as const), name, place }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('rename-container' as const, 'remove-container' as const), place }),
  },
);
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ at: at(15), what: fc.constantFrom(...troubles) }) },
  { weight: 1, arbitrary: fc.record({ at: at(15), what: fc.constantFrom(...hidings) }) },
  { weight: 2, arbitrary: fc.record({ at: at(15), what: kind('change'), change }) },
);
const sync = fc.record({
  kind: kind('sync'),
  // Not often: a full sync mends what an incremental one did wrong.
  full: fc.constantFrom(false, false, false, true),
  troubles: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Trouble[]>([]) },
    { weight: 2, arbitrary: fc.array(trouble, { minLength: 1, maxLength: 2 }) },
  ),
  killAt: fc.option(at(50), { freq: 2 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: change },
  { weight: 1, arbitrary: fc.record({ kind: kind('expire') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('poison' as const, 'cure' as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('wait'), ms: fc.constantFrom(31_000, 700_000, 90_000_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('select'), places: fc.subarray<0 | 1>([0, 1]) }) },
  { weight: 6, arbitrary: sync },
);

/** Programs of up to 8 steps over six items, two containers and two resources. */
export const worldProgram: fc.Arbitrary<WorldProgram> = fc.record({
  mirrored: fc.oneof(fc.constant<string[]>([]), fc.subarray<string>([...names], { minLength: 3 })),
  steps: fc.array(step, { minLength: 3, maxLength: 8 }),
});

/** Whether the feed of changes alone must lead to the right memory: no position expired, no listing left items out. */
export function feedIsEnough({ steps }: WorldProgram): boolean {
  const hides = ({ troubles: all }: Sync) => all.some(({ what }) => what === 'expire' || what === 'leave-out');
  return !steps.some((one) => one.kind === 'expire' || (one.kind === 'sync' && hides(one)));
}
