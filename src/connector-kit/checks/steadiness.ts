import { customIdOf } from '../../sync/check-item.ts';
import type { Check, Subject } from '../check.ts';
import type { Remembered } from '../remembered.ts';
import type { Harness } from '../harness.ts';

const needsFormula = ({ requests }: Subject): string | undefined =>
  requests ? undefined : 'no formula `requests` is given';

/** Checks about what must not happen: 3 and 21. */
export const steadinessChecks: readonly Check[] = [
  {
    number: 3,
    name: 'unchanged',
    title: 'a second sync of an unchanged source fetches nothing and writes nothing',
    async run(harness) {
      await harness.populateAndSync(7);
      await harness.expectMirror('After the first sync');
      for (const mode of ['incremental', 'full'] as const) {
        const before = writtenOf(await harness.memory());
        harness.forget();
        harness.note(`Nothing changed at the source before a second, ${mode} sync.`);
        await harness.syncWell({ mode });
        const fetched = harness.callsOf('fetch') + harness.callsOf('fetchMany');
        harness.expect(
          fetched === 0,
          `It fetched ${fetched} items. Their \`rev\` changes although their content does not.`,
        );
        const after = writtenOf(await harness.memory());
        const touched = Object.keys(after).filter((id) => after[id] !== before[id]);
        harness.expect(touched.length === 0, `It wrote to ${touched.join(', ')}.`);
      }
    },
  },
  {
    number: 3,
    name: 'one-edit',
    title: 'after one edit, just that item is fetched and written',
    async run(harness) {
      await harness.populateAndSync(7);
      const before = writtenOf(await harness.memory());
      await harness.edit('note-4');
      harness.forget();
      await harness.syncAndCompare('After the edit of one item');
      const after = writtenOf(await harness.memory());
      const touched = Object.keys(after).filter((id) => after[id] !== before[id]);
      const edited = customIdOf(harness.connector.spec.name, harness.world.idOf('note-4'));
      harness.expect(touched.join() === edited, `The sync after an edit of ${edited} wrote to ${touched.join(', ')}.`);
    },
  },
  {
    number: 21,
    name: 'first',
    title: 'a first sync takes no more requests than the formula allows',
    missing: needsFormula,
    async run(harness, { requests }) {
      const items = 20;
      await harness.populate(items);
      harness.forget();
      await harness.syncWell();
      expectWithin(harness, requests?.({ items, changed: items }), `the first sync of ${items} items`);
    },
    pages: 'full',
  },
  ...[0, 1, 5].map((changed): Check => ({
    number: 21,
    name: `changed-${changed}`,
    title: `a sync of ${changed} changed items takes no more requests than the formula allows`,
    missing: needsFormula,
    async run(harness, { requests }) {
      const items = 20;
      const names = await harness.populateAndSync(items);
      for (const name of names.slice(0, changed)) await harness.edit(name);
      harness.forget();
      await harness.syncAndCompare('After the sync that was counted');
      expectWithin(harness, requests?.({ items, changed }), `the sync of ${changed} changed items among ${items}`);
    },
    pages: 'full',
  })),
];

function writtenOf(memory: ReadonlyMap<string, Remembered>): Record<string, string> {
  return Object.fromEntries([...memory].map(([customId, { written }]) => [customId, written]));
}

function expectWithin(harness: Harness, allowed: number | undefined, what: string): void {
  const taken = harness.requests();
  harness.expect(taken > 0, `${what} took no request: the world counts none.`);
  harness.expect(
    allowed !== undefined && taken <= allowed,
    `${what} took ${taken} requests, and the formula allows ${allowed}.`,
  );
}
