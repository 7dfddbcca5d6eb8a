import { customIdOf } from '../../sync/ref.ts';
import { needsAsking, needsWorld, type Law } from '../law.ts';
import type { Trial } from '../trial.ts';
import type { UnreadableKind } from '../world.ts';

/** Laws about single items that cannot be read: 11 and 16. */
export const itemLaws: readonly Law[] = [
  {
    number: 11,
    name: 'poison',
    missing: needsAsking,
    title: 'an item that cannot be read holds up nothing else, and is read when it can be',
    async run(trial) {
      const names = await trial.populate(8);
      const id = trial.world.idOf(names[3]!);
      const leaveOut = new Set([id]);
      await surviveOne(trial, names[3]!, {
        break: () =>
          trial.interfere({
            leaveOut,
            before(call) {
              if (call.verb === 'fetch' && call.ids?.includes(id)) throw new Error('a bug at just this item');
            },
          }),
        mend: () => trial.interfere({}),
      });
    },
  },
  {
    number: 11,
    name: 'poison-at-source',
    title: 'an item that the source cannot give holds up nothing else, and is read when it can',
    missing: ({ world }) => needsWorld(world, 'poison'),
    async run(trial) {
      const names = await trial.populate(8);
      await surviveOne(trial, names[3]!, {
        break: () => trial.world.poison!.put(names[3]!),
        mend: () => trial.world.poison!.cure(names[3]!),
      });
    },
  },
  ...(['too_large', 'binary', 'encrypted', 'empty'] as const).map(unreadable),
];

function unreadable(kind: UnreadableKind): Law {
  return {
    number: 16,
    name: kind,
    title: `an item that is ${kind.replace('_', ' ')} is skipped with a reason`,
    missing: ({ world }) => (world.unreadable?.[kind] ? undefined : `the world has no \`unreadable.${kind}\``),
    async run(trial) {
      const names = await trial.populate(3);
      await trial.world.unreadable![kind]!('strange');
      await trial.syncWell();
      await trial.expectMirror(`With an item that is ${kind}`);
      const item = await trial.item('strange');
      trial.expect(item?.state === 'skipped', `The item is ${item?.state ?? 'not in the ledger'} and must be skipped.`);
      trial.expect(Boolean(item?.error), 'It is skipped without a reason.');
      trial.forget();
      await trial.syncWell();
      const fetched = trial.callsOf('fetch') + trial.callsOf('fetchMany');
      trial.expect(fetched === 0, 'It was fetched again although it did not change.');
      await trial.world.edit('strange', trial.text('strange'));
      await trial.world.edit(names[0]!, trial.text(names[0]!));
      await trial.syncWell();
      await trial.expectMirror('After it became readable');
    },
  };
}

/** Everything but one item gets through, and that one follows when it can. */
async function surviveOne(trial: Trial, name: string, ways: { break(): unknown; mend(): unknown }): Promise<void> {
  await ways.break();
  const { run } = await trial.sync();
  trial.expect(run?.status === 'completed', `The run failed as a whole: ${run?.error ?? 'it was not recorded'}.`);
  trial.expect(run?.itemsFailed === 1, `The run counts ${run?.itemsFailed} failed items instead of one.`);
  const shown = run?.failures.some(
    (failure) => failure.customId === customIdOf(trial.connector.spec.name, trial.world.idOf(name)),
  );
  trial.expect(shown === true, 'The run does not name the item that failed.');
  const memory = await trial.memory();
  trial.expect(memory.size === 7, `Memory holds ${memory.size} of the 7 other items.`);
  const item = await trial.item(name);
  trial.expect(item?.state === 'failed', `The item is ${item?.state} and must be failed.`);
  trial.expect(item?.nextTry !== null, 'Nothing says when it is tried again.');
  await ways.mend();
  trial.clock.advance(60_000);
  await trial.syncWell();
  await trial.expectMirror('After the item could be read again');
}
