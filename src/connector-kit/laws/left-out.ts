import type { Ref } from '../../connector/contract.ts';
import type { Law } from '../law.ts';
import type { Interference } from '../scene.ts';
import type { Trial } from '../trial.ts';

/** Items of the source; one at least is left out of each listing. */
const items = 40;
const shares = [1, 20, 95] as const;

type Moment = 'first load' | 'reconcile' | 'reconcile beside deletions';

const moments: Record<string, Moment> = {
  first: 'first load',
  reconcile: 'reconcile',
  deletions: 'reconcile beside deletions',
};

/** Law 23: a listing that silently omits items, and shows others twice, loses nothing. */
export const leftOutLaws: readonly Law[] = Object.entries(moments).flatMap(([name, moment]) =>
  shares.map((share): Law => ({
    number: 23,
    name: `${name}-${share}`,
    title: `a ${moment} whose listing silently omits ${share} % of the items, and shows others twice, loses nothing`,
    concerns: ({ connector }) => connector.spec.listing === 'partial',
    timeoutMs: 120_000,
    run: (trial) => leaveOut(trial, moment, share),
  })),
);

async function leaveOut(trial: Trial, moment: Moment, share: number): Promise<void> {
  const names = await trial.populate(items);
  if (moment !== 'first load') await trial.syncWell();
  const before = await trial.memory();
  const removed = moment === 'reconcile beside deletions' ? names.slice(10, 15) : [];
  for (const name of removed) await trial.world.remove(name);
  trial.note(`Each listing of the ${moment} left out ${share} % of the items, and showed as many twice.`);
  trial.interfere(omitting(trial, share));
  await trial.syncWell({ mode: 'full' });
  trial.interfere({});
  const memory = await trial.memory();
  const lost = [...before.keys()].filter((id) => !memory.has(id)).length;
  const allowed = removed.length;
  trial.expect(lost <= allowed, `${lost} items were removed, of which the source had deleted ${allowed}.`);
  // Of a listing that went wrong, what is missing is found by the next changes and one listing.
  trial.clock.advance(60_000);
  await trial.syncWell();
  if (moment !== 'first load') await trial.expectMirror('After the changes that followed');
  await trial.syncWell({ mode: 'full' });
  await trial.expectMirror('After the changes and one listing that followed');
}

/** What is left out differs from listing to listing, as at the sources that do it. */
function omitting({ random }: Trial, share: number): Interference {
  let earlier: Ref[] = [];
  let isFirst = true;
  return {
    after(call, page: any) {
      if (call.verb !== 'list') return page;
      if (call.cursor === 'null') [earlier, isFirst] = [[], true];
      const refs = (page.refs as Ref[]).filter(() => !isOmitted());
      const again = earlier.filter(() => random.chance(share / 100)).slice(0, 3);
      earlier = [...earlier, ...refs].slice(-100);
      return { ...page, refs: [...refs, ...again] };
    },
  };

  function isOmitted(): boolean {
    const omitted = isFirst || random.chance(share / 100);
    isFirst = false;
    return omitted;
  }
}
