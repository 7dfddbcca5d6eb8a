import type { Ref } from '../../connector/contract.ts';
import type { Check } from '../check.ts';
import type { Interference } from '../setup.ts';
import type { Harness } from '../harness.ts';

/** Items of the source; one at least is left out of each listing. */
const items = 40;
const shares = [1, 20, 95] as const;

type Moment = 'first load' | 'reconcile' | 'reconcile beside deletions';

const moments: Record<string, Moment> = {
  first: 'first load',
  reconcile: 'reconcile',
  deletions: 'reconcile beside deletions',
};

/** Check 23: a listing that silently omits items, and shows others twice, loses nothing. */
export const leftOutChecks: readonly Check[] = Object.entries(moments).flatMap(([name, moment]) =>
  shares.map((share): Check => ({
    number: 23,
    name: `${name}-${share}`,
    title: `a ${moment} whose listing silently omits ${share} % of the items, and shows others twice, loses nothing`,
    concerns: ({ connector }) => connector.spec.listing === 'partial',
    timeoutMs: 120_000,
    run: (harness) => leaveOut(harness, moment, share),
  })),
);

async function leaveOut(harness: Harness, moment: Moment, share: number): Promise<void> {
  const names = await harness.populate(items);
  if (moment !== 'first load') await harness.syncWell();
  const before = await harness.memory();
  const removed = moment === 'reconcile beside deletions' ? names.slice(10, 15) : [];
  for (const name of removed) await harness.world.remove(name);
  harness.note(`Each listing of the ${moment} left out ${share} % of the items, and showed as many twice.`);
  harness.interfere(omitting(harness, share));
  await harness.syncWell({ mode: 'full' });
  harness.interfere({});
  const memory = await harness.memory();
  const lost = [...before.keys()].filter((id) => !memory.has(id)).length;
  const allowed = removed.length;
  harness.expect(lost <= allowed, `${lost} items were removed, of which the source had deleted ${allowed}.`);
  // Of a listing that went wrong, what is missing is found by the next changes and one listing.
  harness.clock.advance(60_000);
  await harness.syncWell();
  if (moment !== 'first load') await harness.expectMirror('After the changes that followed');
  await harness.syncWell({ mode: 'full' });
  await harness.expectMirror('After the changes and one listing that followed');
}

/** Omits different items from each listing, as such sources do. */
function omitting({ random }: Harness, share: number): Interference {
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
