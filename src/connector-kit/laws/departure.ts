import { needsVerb, needsWorld, type Law } from '../law.ts';
import type { Trial } from '../trial.ts';

/** Laws about what goes and comes back: 8, 17 and 22. */
export const departureLaws: readonly Law[] = [
  {
    number: 8,
    name: 'delete',
    title: 'what is deleted at the source is deleted from memory, and what is made anew is there',
    async run(trial) {
      const names = await trial.populate(8);
      await trial.syncWell();
      await trial.world.remove(names[2]!);
      await trial.syncWell();
      await trial.expectMirror('After a deletion');
      await trial.world.create(names[2]!, trial.text(names[2]!));
      await trial.syncWell();
      await trial.expectMirror('After the deleted item was made anew');
    },
  },
  {
    number: 8,
    name: 'trash',
    title: 'what goes into the trash is removed, and is there again when it is taken out',
    missing: ({ world }) => needsWorld(world, 'trash'),
    run: (trial) =>
      goAndComeBack(trial, 'put into the trash', {
        go: (name) => trial.world.trash!.put(name),
        comeBack: (name) => trial.world.trash!.restore(name),
      }),
  },
  {
    number: 8,
    name: 'access',
    title: 'an item that may no longer be read is removed, and is there again with the access',
    missing: ({ world }) => needsWorld(world, 'access'),
    run: (trial) =>
      goAndComeBack(trial, 'withheld', {
        go: (name) => trial.world.access!.revoke(name),
        comeBack: (name) => trial.world.access!.grant(name),
      }),
  },
  {
    number: 8,
    name: 'container',
    title: 'a container that is removed takes what is in it out of memory, and nothing else',
    missing: ({ world }) => needsWorld(world, 'containers'),
    async run(trial) {
      const names = await trial.populate(9);
      await trial.world.containers!.create('shelf');
      for (const name of names.slice(0, 3)) await trial.world.containers!.move(name, 'shelf');
      await trial.syncWell();
      await trial.expectMirror('After the first sync');
      await trial.world.containers!.remove('shelf');
      await trial.syncWell();
      await trial.expectMirror('After the removal of a container with three items');
    },
  },
  {
    number: 17,
    name: 'selection',
    title: 'what is no longer selected is removed, and is there again when it is selected',
    missing: ({ connector, world }) =>
      connector.resources === undefined ? 'the connector has no `resources`' : needsWorld(world, 'resources'),
    run: changeSelection,
  },
  {
    number: 22,
    name: 'brake',
    title: 'a listing that suddenly shows nothing deletes nothing, until a later one confirms it',
    // Partial listings confirm nothing: look-ups do.
    concerns: ({ connector }) => connector.spec.listing !== 'partial',
    async run(trial) {
      await trial.populate(6);
      await trial.syncWell();
      trial.note('From here on every listing showed an empty source.');
      trial.interfere(emptySource);
      await trial.syncWell({ mode: 'full' });
      trial.expect((await trial.memory()).size === 6, 'Documents were deleted at the first empty listing.');
      await trial.syncWell({ mode: 'full' });
      trial.expect((await trial.memory()).size === 6, 'Documents were deleted at a second empty listing, at once.');
      trial.clock.advance(11 * 60_000);
      await trial.syncWell({ mode: 'full' });
      trial.expect((await trial.memory()).size === 0, 'Documents stayed after empty listings over ten minutes.');
    },
  },
  {
    number: 22,
    name: 'look-up',
    title: 'look-ups that suddenly find nothing delete nothing',
    missing: ({ connector }) => needsVerb(connector, 'lookup'),
    async run(trial) {
      const names = await trial.populate(6);
      await trial.syncWell();
      const ids = names.map((name) => trial.world.idOf(name));
      const [partition] = await trial.withContext((context) => trial.connector.partitions(context));
      trial.note('From here on every look-up found nothing.');
      trial.interfere({
        after(call, result: any) {
          return call.verb === 'lookup' ? { ...result, refs: [], gone: ids, done: true } : result;
        },
      });
      for (let time = 1; time <= 2; time++) {
        await trial.syncWell({ trigger: 'event', hints: { [partition!.id]: ids } });
        trial.expect((await trial.memory()).size === 6, `Documents were deleted after ${time} look-ups.`);
        trial.clock.advance(11 * 60_000);
      }
      trial.interfere({});
      await trial.syncWell({ mode: 'full' });
      await trial.expectMirror('After the items were found again');
    },
  },
  {
    number: 22,
    name: 'changes',
    title: 'changes that suddenly miss everything, without saying that it was deleted, delete nothing',
    missing: ({ connector }) => needsVerb(connector, 'changes'),
    async run(trial) {
      const names = await trial.populate(6);
      await trial.syncWell();
      const ids = names.map((name) => trial.world.idOf(name));
      trial.note('From here on changes missed everything.');
      trial.interfere({
        after: (call, result: any) =>
          call.verb === 'changes' ? { ...result, refs: [], gone: [], missing: ids } : result,
      });
      for (let time = 1; time <= 2; time++) {
        await trial.syncWell();
        trial.expect((await trial.memory()).size === 6, `Documents were deleted after ${time} pages of changes.`);
        trial.clock.advance(11 * 60_000);
      }
      trial.interfere({});
      await trial.syncWell({ mode: 'full' });
      await trial.expectMirror('After everything showed again');
    },
  },
  {
    number: 22,
    name: 'release',
    title: 'when the items show again, the brake is released without a deletion',
    async run(trial) {
      await trial.populate(6);
      await trial.syncWell();
      const before = await trial.memory();
      trial.interfere(emptySource);
      await trial.syncWell({ mode: 'full' });
      trial.interfere({});
      trial.clock.advance(11 * 60_000);
      await trial.syncWell({ mode: 'full' });
      await trial.expectMirror('After the items showed again');
      const ids = [...(await trial.memory()).values()].map((one) => one.documentId).sort();
      const same = [...before.values()].map((one) => one.documentId).sort();
      trial.expect(ids.join() === same.join(), 'Documents were deleted and made anew.');
    },
  },
];

/** The connector as it would be over a source that lost everything and does not say so. */
const emptySource = {
  after(call: { verb: string }, result: any): unknown {
    if (call.verb === 'list') return { refs: [], done: true };
    if (call.verb === 'changes') return { ...result, refs: [], gone: [], done: true };
    return result;
  },
};

async function goAndComeBack(
  trial: Trial,
  what: string,
  ways: { go(name: string): unknown; comeBack(name: string): unknown },
): Promise<void> {
  await trial.populate(8);
  await trial.syncWell();
  await ways.go('note-3');
  await trial.syncWell();
  await trial.expectMirror(`After an item was ${what}`);
  await ways.comeBack('note-3');
  await trial.syncWell();
  await trial.expectMirror(`After an item that had been ${what} came back`);
  await ways.go('note-3');
  await trial.world.edit('note-4', trial.text('note-4'));
  await trial.syncWell();
  await ways.comeBack('note-3');
  trial.clock.advance(8 * 86_400_000);
  await trial.recover();
  await trial.expectMirror(`Long after an item was ${what} and came back`);
}

async function changeSelection(trial: Trial): Promise<void> {
  const resources = await trial.world.resources!.all();
  const [first, second] = resources;
  trial.expect(first !== undefined && second !== undefined, 'The world must have two resources at least.');
  const names = await trial.populate(8);
  for (const [index, name] of names.entries()) {
    await trial.world.resources!.move(name, index < 5 ? first!.id : second!.id);
  }
  const select = async (chosen: typeof resources) => {
    await trial.select(chosen);
    await trial.syncWell();
    await trial.recover();
    await trial.expectMirror(`With the selection ${chosen.map(({ id }) => id).join(', ') || '(everything)'}`);
  };
  await trial.syncWell();
  await trial.expectMirror('Before anything was selected');
  await select([first!]);
  await trial.world.edit(names[0]!, trial.text(names[0]!));
  await select([first!, second!]);
  await select([second!]);
  await select([]);
}
