import { firstOf, needsVerb, needsWorld, worldWith, type Check } from '../check.ts';
import type { Remembered } from '../remembered.ts';
import type { Harness } from '../harness.ts';

/** Checks about what changes at the source: 5, 7, 9 and 10. */
export const movementChecks: readonly Check[] = [
  {
    number: 5,
    name: 'during-listing',
    title: 'what changes during a listing is there after the next sync',
    async run(harness) {
      await harness.populate(8);
      let lists = 0;
      harness.interfere({
        async before(call) {
          if (call.verb !== 'list' || ++lists !== 2) return;
          harness.note('Edits, additions and deletions happened while the second page was listed.');
          await harness.edit('note-1');
          await harness.edit('note-8');
          await harness.world.remove('note-2');
          await harness.world.remove('note-7');
          await harness.create('a-new-one');
          await harness.create('zz-new-one');
          await harness.world.rename?.('note-4', 'renamed meanwhile');
        },
      });
      await harness.syncWell();
      harness.expect(lists > 1, 'The listing had one page. Make pages of about three items when `pages` is `small`.');
      harness.interfere({});
      // What is read just before it goes may count as failed for a moment.
      harness.clock.advance(60_000);
      await harness.syncAndCompare('After the next sync');
    },
  },
  {
    number: 7,
    name: 'expired-position',
    title: 'an expired cursor leads to a new listing: nothing is lost, and nothing is processed again',
    missing: ({ connector, world }) => firstOf(needsVerb(connector, 'changes'), needsWorld(world, 'expirePositions')),
    async run(harness) {
      await harness.populateAndSync(8);
      const before = await harness.memory();
      await harness.edit('note-3');
      await harness.world.remove('note-6');
      await harness.create('note-9');
      await worldWith(harness, 'expirePositions').expirePositions();
      harness.note('The source forgot its cursors after an edit, a deletion and an addition.');
      harness.forget();
      await harness.syncWell();
      harness.expect(
        harness.callsOf('list') > 0,
        'Nothing was listed. `changes` must throw `cursorExpired` for a cursor that the source forgot.',
      );
      await harness.expectMirror('After the sync with the expired cursor');
      expectUntouched(harness, before, await harness.memory(), 6);
    },
  },
  {
    number: 9,
    name: 'rename',
    title: 'a renamed item stays the same document, and its text is not processed again',
    missing: ({ world }) => needsWorld(world, 'rename'),
    async run(harness) {
      const world = worldWith(harness, 'rename');
      await harness.populateAndSync(6);
      await keepsDocument(harness, 'note-2', () => world.rename('note-2', 'another title'));
      await keepsDocument(harness, 'note-5', () => world.rename('note-5', 'a title before all others'));
    },
  },
  {
    number: 9,
    name: 'move',
    title: 'an item that moves into another container stays the same document',
    missing: ({ world }) => needsWorld(world, 'containers'),
    async run(harness) {
      const { containers } = worldWith(harness, 'containers');
      await harness.populate(6);
      await containers.create('shelf');
      await containers.create('other shelf');
      await harness.syncWell();
      await keepsDocument(harness, 'note-2', () => containers.move('note-2', 'shelf'));
      await keepsDocument(harness, 'note-2', () => containers.move('note-2', 'other shelf'));
    },
  },
  {
    number: 9,
    name: 'container-rename',
    title: 'items of a renamed container stay the same documents',
    missing: ({ world }) => needsWorld(world, 'containers'),
    async run(harness) {
      const { containers } = worldWith(harness, 'containers');
      await harness.populate(6);
      await containers.create('shelf');
      await containers.move('note-2', 'shelf');
      await harness.syncWell();
      await keepsDocument(harness, 'note-2', () => containers.rename('shelf', 'renamed shelf'));
    },
  },
  {
    number: 9,
    name: 'scope',
    title: 'an item that leaves what is mirrored is removed, and is there again when it comes back',
    missing: ({ world }) => needsWorld(world, 'scope'),
    async run(harness) {
      const { scope } = worldWith(harness, 'scope');
      await harness.populateAndSync(6);
      await scope.leave('note-3');
      await harness.syncAndCompare('After an item left what is mirrored');
      await scope.enter('note-3');
      await harness.syncAndCompare('After the item came back');
    },
  },
  {
    number: 10,
    name: 'equal-times',
    title: 'items with equal timestamps are all found, also across a boundary of pages',
    async run(harness) {
      const names = await harness.populateAndSync(10);
      await harness.expectMirror('After the sync of ten items made in one moment');
      for (const name of names.slice(2, 9)) await harness.edit(name);
      await harness.syncAndCompare('After the sync of seven items edited in one moment');
    },
  },
  {
    number: 10,
    name: 'one-minute',
    title: 'an edit in the same minute as the last sync is found',
    async run(harness) {
      harness.world.setClockStep?.(60_000);
      await harness.populateAndSync(4);
      for (let round = 1; round <= 3; round++) {
        await harness.edit('note-2');
        await harness.syncWell();
        await harness.edit('note-2');
        harness.note(`Edit, sync and edit happened within one minute, round ${round}.`);
        harness.clock.advance(3 * 60_000);
        await harness.syncAndCompare('After a sync three minutes later');
      }
    },
  },
  ...[2, -2].map((hours): Check => ({
    number: 10,
    name: hours > 0 ? 'clock-ahead' : 'clock-behind',
    title: `changes are found when the clock of the source is two hours ${hours > 0 ? 'ahead' : 'behind'}`,
    missing: ({ world }) => needsWorld(world, 'setClockSkew'),
    async run(harness) {
      worldWith(harness, 'setClockSkew').setClockSkew(hours * 3_600_000);
      await harness.populateAndSync(5);
      await harness.expectMirror('After the first sync');
      harness.clock.advance(60_000);
      await harness.edit('note-1');
      await harness.create('note-6');
      await harness.world.remove('note-3');
      harness.clock.advance(60_000);
      await harness.syncAndCompare('After an edit, an addition and a deletion');
    },
  })),
];

/** Memory equals the world after the change, and the item still has its document and its chunks. */
async function keepsDocument(harness: Harness, name: string, change: () => unknown): Promise<void> {
  const before = await harness.remembered(name);
  await change();
  await harness.syncAndCompare(`After ${name} was renamed or moved`);
  const after = await harness.remembered(name);
  harness.expect(
    after?.documentId === before?.documentId,
    `${name} has become another document. Keep its \`id\`, or give it a \`fingerprint\` that stays.`,
  );
  harness.expect(
    chunkIds(after) === chunkIds(before),
    `The text of ${name} was processed again although it is the same.`,
  );
}

function chunkIds(one: Remembered | undefined): string {
  return (one?.chunks ?? []).map((chunk) => chunk.id).join(' ');
}

/** At least so many documents have the chunks that they had. */
function expectUntouched(
  harness: Harness,
  before: ReadonlyMap<string, Remembered>,
  after: ReadonlyMap<string, Remembered>,
  count: number,
): void {
  const same = [...after].filter(([id, one]) => chunkIds(one) === chunkIds(before.get(id)) && one.chunks.length > 0);
  harness.expect(same.length >= count, `Only ${same.length} of ${count} unchanged items kept their chunks.`);
}
