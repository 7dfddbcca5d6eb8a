import fc from 'fast-check';
import type { Abilities } from './synthetic-source.ts';

const troubles = [
  // The daemon: stopped in order, killed before a request is answered, right after the answer, or at a statement.
  ...['stop', 'kill', 'kill-after', 'kill-statement'],
  // One request fails, or each from there on, in all the ways there are.
  ...['fail', 'fail-on', 'bug', 'limit', 'refuse', 'forbid', 'missing'],
  // The source says that it does not show everything, forgets positions, or changes under the listing.
  ...['incomplete', 'expire', 'edit'],
  // Listings leave items out without saying so, of sources that may.
  'leave-out',
  // What was read is edited or removed at the source, and the answer arrives when all else has been done.
  ...['late-edit', 'late-removal'],
  // The source reports changes in the middle of the sync.
  'report',
] as const;

/** From the request (or statement) with this number on, or just at it. */
export interface Trouble {
  at: number;
  what: (typeof troubles)[number];
}

/** Changes at the source. */
export type Change =
  | { kind: 'put'; id: string; text: string }
  | { kind: 'describe'; id: string; note: string }
  | { kind: 'remove'; id: string }
  | { kind: 'rename'; id: string; to: string }
  /** Gone and there again before anybody looked. */
  | { kind: 'return'; id: string };

/** The process stands still for longer than its lease, and another one takes over meanwhile. */
export interface Freeze {
  at: number;
  /** Before a statement, or between an answer of the source (to any request, or to one for content) and its arrival. */
  where: 'statement' | 'answer' | 'content';
  /** What happens meanwhile to the item that was read last. */
  read: 'edited' | 'removed' | null;
  changes: Change[];
  /** What the other process does; null: nothing. */
  other: Sync | null;
}

export interface Sync {
  full: boolean;
  /** Ids that the source reports. Absent: the whole source is looked at. */
  hints?: string[];
  troubles: Trouble[];
}

/** What can happen to a source and to the daemon that mirrors it. */
export type Step =
  | Change
  | { kind: 'expire' }
  | { kind: 'wait'; ms: number }
  | { kind: 'process' }
  | { kind: 'report'; ids: string[] }
  | ({ kind: 'sync'; freeze: Freeze | null } & Sync);

export interface Program {
  abilities: Abilities;
  /** What is mirrored before anything happens. */
  mirrored: string[];
  steps: Step[];
}

const allIds = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
const ids = fc.constantFrom<string>(...allIds);
const at = (max: number) => fc.integer({ min: 1, max });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ at: at(15), what: fc.constantFrom(...troubles) }) },
  { weight: 1, arbitrary: fc.record({ at: at(40), what: fc.constant('kill-statement' as const) }) },
);
/** A listing that is not complete ends early, and goes on in another run. */
const interrupted: fc.Arbitrary<Trouble[]> = fc
  .record({ at: at(4), gap: at(3), what: fc.constantFrom('kill', 'kill-after', 'stop', 'fail-on') })
  .map(({ at: from, gap, what }) => [
    { at: from, what: 'incomplete' },
    { at: from + 1 + gap, what },
  ]);
const late: fc.Arbitrary<Trouble[]> = fc
  .record({ at: at(6), what: fc.constantFrom('late-edit' as const, 'late-removal' as const) })
  .map((one) => [one]);
/** Up to three in one sync. */
const troubleList = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Trouble[]>([]) },
  { weight: 2, arbitrary: fc.array(trouble, { minLength: 1, maxLength: 1 }) },
  { weight: 2, arbitrary: fc.array(trouble, { minLength: 2, maxLength: 3 }) },
  { weight: 1, arbitrary: interrupted },
  { weight: 1, arbitrary: late },
);
const words = fc.constantFrom('amber', 'boat', 'copper', 'drift', 'ember', 'fern');
const text = fc.array(words, { minLength: 1, maxLength: 3 }).map((chosen) => chosen.join(' '));
/** Not often: a full sync mends what an incremental one did wrong. */
const sometimes = fc.constantFrom(false, false, false, true);
const kind = <Kind extends Step['kind']>(name: Kind) => fc.constant(name);

const changes: { weight: number; arbitrary: fc.Arbitrary<Change> }[] = [
  { weight: 6, arbitrary: fc.record({ kind: kind('put'), id: ids, text }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('describe'), id: ids, note: words }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('remove'), id: ids }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('rename'), id: ids, to: ids }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('return'), id: ids }) },
];

const full = fc.record({ full: sometimes, troubles: troubleList });
const hinted = fc.record({
  full: fc.constant(false),
  hints: fc.array(ids, { maxLength: 3 }),
  troubles: troubleList,
});
const sync: fc.Arbitrary<Sync> = fc.oneof({ weight: 5, arbitrary: full }, { weight: 2, arbitrary: hinted });
const freeze: fc.Arbitrary<Freeze | null> = fc.option(
  fc.record({
    at: at(12),
    where: fc.constantFrom('statement' as const, 'answer' as const, 'content' as const),
    read: fc.constantFrom('edited' as const, 'removed' as const, null),
    changes: fc.array(fc.oneof(...changes), { maxLength: 3 }),
    other: fc.option(sync, { freq: 6 }),
  }),
  { freq: 1 },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  ...changes,
  { weight: 1, arbitrary: fc.record({ kind: kind('expire') }) },
  // Also back: clocks are set.
  { weight: 2, arbitrary: fc.record({ kind: kind('wait'), ms: fc.constantFrom(1, 31_000, 700_000, -90_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('process') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('report'), ids: fc.array(ids, { maxLength: 3 }) }) },
  {
    weight: 5,
    arbitrary: fc
      .record({ kind: kind('sync'), sync, freeze: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, freeze) })
      .map(({ sync: asked, ...rest }) => ({ ...rest, ...asked })),
  },
);

/** Programs of up to 20 steps over eight items. */
export const program: fc.Arbitrary<Program> = fc.record({
  abilities: fc.record({
    incremental: fc.boolean(),
    lookup: fc.boolean(),
    partial: fc.constantFrom(false, false, true),
    batches: fc.boolean(),
    partitions: fc.constantFrom(1, 1, 2, 3),
    tellsHistory: fc.boolean(),
  }),
  mirrored: fc.oneof(fc.constant<string[]>([]), fc.subarray<string>([...allIds], { minLength: 4 })),
  steps: fc.array(step, { minLength: 3, maxLength: 20 }),
});

/**
 * Whether the feed of changes alone must lead to the right memory. After a position that expired, what
 * a listing missed meanwhile is only found by the next complete one.
 */
export function changesAreEnough({ abilities: { incremental = false }, steps }: Program): boolean {
  const hides = ({ troubles: all }: Sync) =>
    all.some(({ what }) => ['incomplete', 'expire', 'leave-out'].includes(what));
  const isHidden = (one: Step) =>
    one.kind === 'expire' || (one.kind === 'sync' && (hides(one) || (one.freeze?.other && hides(one.freeze.other))));
  return incremental && !steps.some(isHidden);
}
