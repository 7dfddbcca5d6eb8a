import { needsVerb, needsWorld, worldWith, type Check } from '../check.ts';
import type { Harness } from '../harness.ts';
import type { Resource } from '../../connector/contract.ts';

/** Checks about what goes and comes back: 8, 17 and 22. */
export const departureChecks: readonly Check[] = [
  {
    number: 8,
    name: 'delete',
    title: 'what is deleted at the source is deleted from memory, and what is made anew is there',
    async run(harness) {
      await harness.populateAndSync(8);
      await harness.world.remove('note-3');
      await harness.syncAndCompare('After a deletion');
      await harness.create('note-3');
      await harness.syncAndCompare('After the deleted item was made anew');
    },
  },
  {
    number: 8,
    name: 'trash',
    title: 'what goes into the trash is removed, and is there again when it is taken out',
    missing: ({ world }) => needsWorld(world, 'trash'),
    run(harness) {
      const { trash } = worldWith(harness, 'trash');
      return goAndComeBack(harness, 'put into the trash', {
        go: (name) => trash.put(name),
        comeBack: (name) => trash.restore(name),
      });
    },
  },
  {
    number: 8,
    name: 'access',
    title: 'an item that may no longer be read is removed, and is there again with the access',
    missing: ({ world }) => needsWorld(world, 'access'),
    run(harness) {
      const { access } = worldWith(harness, 'access');
      return goAndComeBack(harness, 'withheld', {
        go: (name) => access.revoke(name),
        comeBack: (name) => access.grant(name),
      });
    },
  },
  {
    number: 8,
    name: 'container',
    title: 'a container that is removed takes what is in it out of memory, and nothing else',
    missing: ({ world }) => needsWorld(world, 'containers'),
    async run(harness) {
      const { containers } = worldWith(harness, 'containers');
      const names = await harness.populate(9);
      await containers.create('shelf');
      for (const name of names.slice(0, 3)) await containers.move(name, 'shelf');
      await harness.syncAndCompare('After the first sync');
      await containers.remove('shelf');
      await harness.syncAndCompare('After the removal of a container with three items');
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
    async run(harness) {
      await harness.populateAndSync(6);
      harness.note('From here on every listing showed an empty source.');
      harness.interfere(emptySource);
      await harness.syncWell({ mode: 'full' });
      harness.expect((await harness.memory()).size === 6, 'Documents were deleted at the first empty listing.');
      await harness.syncWell({ mode: 'full' });
      harness.expect((await harness.memory()).size === 6, 'Documents were deleted at a second empty listing, at once.');
      harness.clock.advance(11 * 60_000);
      await harness.syncWell({ mode: 'full' });
      harness.expect((await harness.memory()).size === 0, 'Documents stayed after empty listings over ten minutes.');
    },
  },
  {
    number: 22,
    name: 'look-up',
    title: 'look-ups that suddenly find nothing delete nothing',
    missing: ({ connector }) => needsVerb(connector, 'lookup'),
    async run(harness) {
      const names = await harness.populateAndSync(6);
      const ids = names.map((name) => harness.world.idOf(name));
      const partitions = await harness.withContext((context) => harness.connector.partitions(context));
      const hints = Object.fromEntries(partitions.slice(0, 1).map(({ id }) => [id, ids]));
      harness.note('From here on every look-up found nothing.');
      harness.interfere({
        after(call, result: any) {
          return call.verb === 'lookup' ? { ...result, refs: [], gone: ids, done: true } : result;
        },
      });
      for (let time = 1; time <= 2; time++) {
        await harness.syncWell({ trigger: 'event', hints });
        harness.expect((await harness.memory()).size === 6, `Documents were deleted after ${time} look-ups.`);
        harness.clock.advance(11 * 60_000);
      }
      harness.interfere({});
      await harness.syncAndCompare('After the items were found again', { mode: 'full' });
    },
  },
  {
    number: 22,
    name: 'changes',
    title: 'changes that suddenly miss everything, without saying that it was deleted, delete nothing',
    missing: ({ connector }) => needsVerb(connector, 'changes'),
    async run(harness) {
      const names = await harness.populateAndSync(6);
      const ids = names.map((name) => harness.world.idOf(name));
      harness.note('From here on changes missed everything.');
      harness.interfere({
        after: (call, result: any) =>
          call.verb === 'changes' ? { ...result, refs: [], gone: [], missing: ids } : result,
      });
      for (let time = 1; time <= 2; time++) {
        await harness.syncWell();
        harness.expect((await harness.memory()).size === 6, `Documents were deleted after ${time} pages of changes.`);
        harness.clock.advance(11 * 60_000);
      }
      harness.interfere({});
      await harness.syncAndCompare('After everything showed again', { mode: 'full' });
    },
  },
  {
    number: 22,
    name: 'release',
    title: 'when the items show again, the brake is released without a deletion',
    async run(harness) {
      await harness.populateAndSync(6);
      const before = await harness.memory();
      harness.interfere(emptySource);
      await harness.syncWell({ mode: 'full' });
      harness.interfere({});
      harness.clock.advance(11 * 60_000);
      await harness.syncAndCompare('After the items showed again', { mode: 'full' });
      const ids = [...(await harness.memory()).values()].map((one) => one.documentId).sort();
      const same = [...before.values()].map((one) => one.documentId).sort();
      harness.expect(ids.join() === same.join(), 'Documents were deleted and made anew.');
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
  harness: Harness,
  what: string,
  ways: { go(name: string): unknown; comeBack(name: string): unknown },
): Promise<void> {
  await harness.populateAndSync(8);
  await ways.go('note-3');
  await harness.syncAndCompare(`After an item was ${what}`);
  await ways.comeBack('note-3');
  await harness.syncAndCompare(`After an item that had been ${what} came back`);
  await ways.go('note-3');
  await harness.edit('note-4');
  await harness.syncWell();
  await ways.comeBack('note-3');
  harness.clock.advance(8 * 86_400_000);
  await harness.recover();
  await harness.expectMirror(`Long after an item was ${what} and came back`);
}

async function changeSelection(harness: Harness): Promise<void> {
  const { resources } = worldWith(harness, 'resources');
  const [first, second] = await resources.all();
  if (!first || !second) return harness.expect(false, 'The world must have two resources at least.');
  const names = await harness.populate(8);
  for (const [index, name] of names.entries()) {
    await resources.move(name, index < 5 ? first.id : second.id);
  }
  const select = async (chosen: readonly Resource[]) => {
    await harness.select(chosen);
    await harness.syncWell();
    await harness.recover();
    await harness.expectMirror(`With the selection ${chosen.map(({ id }) => id).join(', ') || '(everything)'}`);
  };
  await harness.syncAndCompare('Before anything was selected');
  await select([first]);
  await harness.edit('note-1');
  await select([first, second]);
  await select([second]);
  await select([]);
}
