import { firstOf, needsVerb, needsWorld, type Law } from '../law.ts';
import type { Remembered } from '../remembered.ts';
import type { Trial } from '../trial.ts';

/** Laws about what changes at the source: 5, 7, 9 and 10. */
export const movementLaws: readonly Law[] = [
  {
    number: 5,
    name: 'during-listing',
    title: 'what changes during a listing is there after the next sync',
    async run(trial) {
      const names = await trial.populate(8);
      let lists = 0;
      trial.interfere({
        async before(call) {
          if (call.verb !== 'list' || ++lists !== 2) return;
          trial.note('Edits, additions and deletions happened while the second page was listed.');
          await trial.world.edit(names[0]!, trial.text(names[0]!));
          await trial.world.edit(names[7]!, trial.text(names[7]!));
          await trial.world.remove(names[1]!);
          await trial.world.remove(names[6]!);
          await trial.world.create('a-new-one', trial.text('a-new-one'));
          await trial.world.create('zz-new-one', trial.text('zz-new-one'));
          await trial.world.rename?.(names[3]!, 'renamed meanwhile');
        },
      });
      await trial.syncWell();
      trial.expect(lists > 1, 'The listing had one page. Make pages of about three items when `pages` is `small`.');
      trial.interfere({});
      // What is read just before it goes may count as failed for a moment.
      trial.clock.advance(60_000);
      await trial.syncWell();
      await trial.expectMirror('After the next sync');
    },
  },
  {
    number: 7,
    name: 'expired-position',
    title: 'an expired position leads to a new listing: nothing is lost, and nothing is processed again',
    missing: ({ connector, world }) => firstOf(needsVerb(connector, 'changes'), needsWorld(world, 'expirePositions')),
    async run(trial) {
      const names = await trial.populate(8);
      await trial.syncWell();
      const before = await trial.memory();
      await trial.world.edit(names[2]!, trial.text(names[2]!));
      await trial.world.remove(names[5]!);
      await trial.world.create('note-9', trial.text('note-9'));
      await trial.world.expirePositions!();
      trial.note('The source forgot its positions after an edit, a deletion and an addition.');
      trial.forget();
      await trial.syncWell();
      trial.expect(
        trial.callsOf('list') > 0,
        'Nothing was listed. `changes` must throw `cursorExpired` for a position that the source forgot.',
      );
      await trial.expectMirror('After the sync with the expired position');
      expectUntouched(trial, before, await trial.memory(), 6);
    },
  },
  {
    number: 9,
    name: 'rename',
    title: 'a renamed item stays the same document, and its text is not processed again',
    missing: ({ world }) => needsWorld(world, 'rename'),
    async run(trial) {
      await trial.populate(6);
      await trial.syncWell();
      await keepsDocument(trial, 'note-2', () => trial.world.rename!('note-2', 'another title'));
      await keepsDocument(trial, 'note-5', () => trial.world.rename!('note-5', 'a title before all others'));
    },
  },
  {
    number: 9,
    name: 'move',
    title: 'an item that moves into another container stays the same document',
    missing: ({ world }) => needsWorld(world, 'containers'),
    async run(trial) {
      await trial.populate(6);
      await trial.world.containers!.create('shelf');
      await trial.world.containers!.create('other shelf');
      await trial.syncWell();
      await keepsDocument(trial, 'note-2', () => trial.world.containers!.move('note-2', 'shelf'));
      await keepsDocument(trial, 'note-2', () => trial.world.containers!.move('note-2', 'other shelf'));
    },
  },
  {
    number: 9,
    name: 'container-rename',
    title: 'items of a renamed container stay the same documents',
    missing: ({ world }) => needsWorld(world, 'containers'),
    async run(trial) {
      await trial.populate(6);
      await trial.world.containers!.create('shelf');
      await trial.world.containers!.move('note-2', 'shelf');
      await trial.syncWell();
      await keepsDocument(trial, 'note-2', () => trial.world.containers!.rename('shelf', 'renamed shelf'));
    },
  },
  {
    number: 9,
    name: 'scope',
    title: 'an item that leaves what is mirrored is removed, and is there again when it comes back',
    missing: ({ world }) => needsWorld(world, 'scope'),
    async run(trial) {
      await trial.populate(6);
      await trial.syncWell();
      await trial.world.scope!.leave('note-3');
      await trial.syncWell();
      await trial.expectMirror('After an item left what is mirrored');
      await trial.world.scope!.enter('note-3');
      await trial.syncWell();
      await trial.expectMirror('After the item came back');
    },
  },
  {
    number: 10,
    name: 'equal-times',
    title: 'items with equal timestamps are all found, also across a boundary of pages',
    async run(trial) {
      const names = await trial.populate(10);
      await trial.syncWell();
      await trial.expectMirror('After the sync of ten items made in one moment');
      for (const name of names.slice(2, 9)) await trial.world.edit(name, trial.text(name));
      await trial.syncWell();
      await trial.expectMirror('After the sync of seven items edited in one moment');
    },
  },
  {
    number: 10,
    name: 'one-minute',
    title: 'an edit in the same minute as the last sync is found',
    async run(trial) {
      trial.world.setClockStep?.(60_000);
      await trial.populate(4);
      await trial.syncWell();
      for (let round = 1; round <= 3; round++) {
        await trial.world.edit('note-2', trial.text('note-2'));
        await trial.syncWell();
        await trial.world.edit('note-2', trial.text('note-2'));
        trial.note(`Edit, sync and edit happened within one minute, round ${round}.`);
        trial.clock.advance(3 * 60_000);
        await trial.syncWell();
        await trial.expectMirror('After a sync three minutes later');
      }
    },
  },
  ...[2, -2].map((hours): Law => ({
    number: 10,
    name: hours > 0 ? 'clock-ahead' : 'clock-behind',
    title: `changes are found when the clock of the source is two hours ${hours > 0 ? 'ahead' : 'behind'}`,
    missing: ({ world }) => needsWorld(world, 'setClockSkew'),
    async run(trial) {
      trial.world.setClockSkew!(hours * 3_600_000);
      await trial.populate(5);
      await trial.syncWell();
      await trial.expectMirror('After the first sync');
      trial.clock.advance(60_000);
      await trial.world.edit('note-1', trial.text('note-1'));
      await trial.world.create('note-6', trial.text('note-6'));
      await trial.world.remove('note-3');
      trial.clock.advance(60_000);
      await trial.syncWell();
      await trial.expectMirror('After an edit, an addition and a deletion');
    },
  })),
];

/** Memory equals the world after the change, and the item still has its document and its chunks. */
async function keepsDocument(trial: Trial, name: string, change: () => unknown): Promise<void> {
  const before = await trial.remembered(name);
  await change();
  await trial.syncWell();
  await trial.expectMirror(`After ${name} was renamed or moved`);
  const after = await trial.remembered(name);
  trial.expect(
    after?.documentId === before?.documentId,
    `${name} has become another document. Keep its \`id\`, or give it a \`fingerprint\` that stays.`,
  );
  trial.expect(
    chunkIds(after) === chunkIds(before),
    `The text of ${name} was processed again although it is the same.`,
  );
}

function chunkIds(one: Remembered | undefined): string {
  return (one?.chunks ?? []).map((chunk) => chunk.id).join(' ');
}

/** At least so many documents have the chunks that they had. */
function expectUntouched(
  trial: Trial,
  before: ReadonlyMap<string, Remembered>,
  after: ReadonlyMap<string, Remembered>,
  count: number,
): void {
  const same = [...after].filter(([id, one]) => chunkIds(one) === chunkIds(before.get(id)) && one.chunks.length > 0);
  trial.expect(same.length >= count, `Only ${same.length} of ${count} unchanged items kept their chunks.`);
}
