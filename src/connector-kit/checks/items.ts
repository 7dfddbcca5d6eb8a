import { customIdOf } from '../../sync/check-item.ts';
import { needsAsking, needsWorld, worldWith, type Check } from '../check.ts';
import type { Harness } from '../harness.ts';
import type { UnreadableKind } from '../world.ts';

/** Checks about single items that cannot be read: 11 and 16. */
export const itemChecks: readonly Check[] = [
  {
    number: 11,
    name: 'poison',
    missing: needsAsking,
    title: 'an item that cannot be read holds up nothing else, and is read when it can be',
    async run(harness) {
      await harness.populate(8);
      const id = harness.world.idOf('note-4');
      const leaveOut = new Set([id]);
      await surviveOne(harness, 'note-4', {
        break: () =>
          harness.interfere({
            leaveOut,
            before(call) {
              if (call.verb === 'fetch' && call.ids?.includes(id)) throw new Error('a bug at just this item');
            },
          }),
        mend: () => harness.interfere({}),
      });
    },
  },
  {
    number: 11,
    name: 'poison-at-source',
    title: 'an item that the source cannot give holds up nothing else, and is read when it can',
    missing: ({ world }) => needsWorld(world, 'poison'),
    async run(harness) {
      const { poison } = worldWith(harness, 'poison');
      await harness.populate(8);
      await surviveOne(harness, 'note-4', {
        break: () => poison.put('note-4'),
        mend: () => poison.cure('note-4'),
      });
    },
  },
  ...(['too_large', 'binary', 'encrypted', 'empty'] as const).map(unreadable),
];

function unreadable(kind: UnreadableKind): Check {
  return {
    number: 16,
    name: kind,
    title: `an item that is ${kind.replace('_', ' ')} is skipped with a reason`,
    missing: ({ world }) => (world.unreadable?.[kind] ? undefined : `the world has no \`unreadable.${kind}\``),
    async run(harness) {
      await harness.populate(3);
      await worldWith(harness, 'unreadable').unreadable[kind]?.('strange');
      await harness.syncAndCompare(`With an item that is ${kind}`);
      const item = await harness.item('strange');
      harness.expect(
        item?.state === 'skipped',
        `The item is ${item?.state ?? 'not in the ledger'} and must be skipped.`,
      );
      harness.expect(Boolean(item?.error), 'It is skipped without a reason.');
      harness.forget();
      await harness.syncWell();
      const fetched = harness.callsOf('fetch') + harness.callsOf('fetchMany');
      harness.expect(fetched === 0, 'It was fetched again although it did not change.');
      await harness.edit('strange');
      await harness.edit('note-1');
      await harness.syncAndCompare('After it became readable');
    },
  };
}

/** Everything but one item gets through, and that one follows when it can. */
async function surviveOne(harness: Harness, name: string, ways: { break(): unknown; mend(): unknown }): Promise<void> {
  await ways.break();
  const { run } = await harness.sync();
  harness.expect(run?.status === 'completed', `The run failed as a whole: ${run?.error ?? 'it was not recorded'}.`);
  harness.expect(run?.itemsFailed === 1, `The run counts ${run?.itemsFailed} failed items instead of one.`);
  const shown = run?.failures.some(
    (failure) => failure.customId === customIdOf(harness.connector.spec.name, harness.world.idOf(name)),
  );
  harness.expect(shown === true, 'The run does not name the item that failed.');
  const memory = await harness.memory();
  harness.expect(memory.size === 7, `Memory holds ${memory.size} of the 7 other items.`);
  const item = await harness.item(name);
  harness.expect(item?.state === 'failed', `The item is ${item?.state} and must be failed.`);
  harness.expect(item?.nextTry !== null, 'Nothing says when it is tried again.');
  await ways.mend();
  harness.clock.advance(60_000);
  await harness.syncAndCompare('After the item could be read again');
}
