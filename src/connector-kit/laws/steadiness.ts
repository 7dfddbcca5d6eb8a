import { customIdOf } from '../../sync/ref.ts';
import type { Law } from '../law.ts';
import type { Remembered } from '../remembered.ts';
import type { Trial } from '../trial.ts';

/** Laws about what must not happen: 3 and 21. */
export const steadinessLaws: readonly Law[] = [
  {
    number: 3,
    name: 'unchanged',
    title: 'a second sync of an unchanged source fetches nothing and writes nothing',
    async run(trial) {
      await trial.populate(7);
      await trial.syncWell();
      await trial.expectMirror('After the first sync');
      for (const mode of ['incremental', 'full'] as const) {
        const before = writtenOf(await trial.memory());
        trial.forget();
        trial.note(`Nothing changed at the source before a second, ${mode} sync.`);
        await trial.syncWell({ mode });
        const fetched = trial.callsOf('fetch') + trial.callsOf('fetchMany');
        trial.expect(
          fetched === 0,
          `It fetched ${fetched} items. Their \`rev\` changes although their content does not.`,
        );
        const after = writtenOf(await trial.memory());
        const touched = Object.keys(after).filter((id) => after[id] !== before[id]);
        trial.expect(touched.length === 0, `It wrote to ${touched.join(', ')}.`);
      }
    },
  },
  {
    number: 3,
    name: 'one-edit',
    title: 'after one edit, just that item is fetched and written',
    async run(trial) {
      await trial.populate(7);
      await trial.syncWell();
      const before = writtenOf(await trial.memory());
      await trial.world.edit('note-4', trial.text('note-4'));
      trial.forget();
      await trial.syncWell();
      await trial.expectMirror('After the edit of one item');
      const after = writtenOf(await trial.memory());
      const touched = Object.keys(after).filter((id) => after[id] !== before[id]);
      const edited = customIdOf(trial.connector.spec.name, trial.world.idOf('note-4'));
      trial.expect(touched.join() === edited, `The sync after an edit of ${edited} wrote to ${touched.join(', ')}.`);
    },
  },
  {
    number: 21,
    name: 'first',
    title: 'a first sync takes no more requests than the formula allows',
    missing: ({ requests }) => (requests ? undefined : 'no formula `requests` is given'),
    async run(trial, { requests }) {
      const items = 20;
      await trial.populate(items);
      trial.forget();
      await trial.syncWell();
      expectWithin(trial, requests!({ items, changed: items }), `the first sync of ${items} items`);
    },
    pages: 'full',
  },
  ...[0, 1, 5].map((changed): Law => ({
    number: 21,
    name: `changed-${changed}`,
    title: `a sync of ${changed} changed items takes no more requests than the formula allows`,
    missing: ({ requests }) => (requests ? undefined : 'no formula `requests` is given'),
    async run(trial, { requests }) {
      const items = 20;
      const names = await trial.populate(items);
      await trial.syncWell();
      for (const name of names.slice(0, changed)) await trial.world.edit(name, trial.text(name));
      trial.forget();
      await trial.syncWell();
      await trial.expectMirror('After the sync that was counted');
      expectWithin(trial, requests!({ items, changed }), `the sync of ${changed} changed items among ${items}`);
    },
    pages: 'full',
  })),
];

function writtenOf(memory: ReadonlyMap<string, Remembered>): Record<string, string> {
  return Object.fromEntries([...memory].map(([customId, { written }]) => [customId, written]));
}

function expectWithin(trial: Trial, allowed: number, what: string): void {
  const taken = trial.requests();
  trial.expect(taken > 0, `${what} took no request: the world counts none.`);
  trial.expect(taken <= allowed, `${what} took ${taken} requests, and the formula allows ${allowed}.`);
}
