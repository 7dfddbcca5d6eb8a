import type { Ref } from '../../connector/contract.ts';
import { type Check, firstOf, needsAsking, needsWorld } from '../check.ts';
import type { Interference } from '../setup.ts';
import type { Harness } from '../harness.ts';
import { sql } from '../../store/sql.ts';
import type { SyncRunRow } from '../../store/sync-runs.ts';
import type { SourceRequest } from '../serve-source.ts';

/** Items of the source; one at least is left out of each listing. */
const items = 40;
const shares = [1, 20, 95] as const;

type Moment = 'first load' | 'reconcile' | 'reconcile beside deletions';

const moments: Record<string, Moment> = {
  first: 'first load',
  reconcile: 'reconcile',
  deletions: 'reconcile beside deletions',
};

const omissionChecks: readonly Check[] = Object.entries(moments).flatMap(([name, moment]) =>
  shares.map((share): Check => ({
    number: 23,
    name: `${name}-${share}`,
    title: `a ${moment} whose listing silently omits ${share} % of the items, and shows others twice, loses nothing`,
    concerns: ({ connector }) => connector.spec.listing === 'partial',
    timeoutMs: 120_000,
    run: (harness) => leaveOut(harness, moment, share),
  })),
);

/**
 * Check 23: a listing that silently omits items, and shows others twice, loses nothing.
 * Check 24: a part of a source that fails is told. A connector that takes the failure for the end of a listing, or for
 * an empty drive, has mirrored less than there is, and says that it is done.
 */
export const leftOutChecks: readonly Check[] = [
  ...omissionChecks,
  {
    number: 24,
    name: 'one-request',
    title: 'a first sync in which one request fails for good never ends as done with less than there is',
    missing: (subject) => firstOf(needsAsking(subject), needsWorld(subject.world, 'traffic')),
    timeoutMs: 240_000,
    run: failOneByOne,
  },
];

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
  await harness.syncAndCompare('After the changes and one listing that followed', { mode: 'full' });
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

const mostRequests = 100;

async function failOneByOne(harness: Harness): Promise<void> {
  await harness.populate(7);
  for (let number = 1; number <= mostRequests; number++) {
    const notes = harness.notes();
    if (number > 1) await harness.reconnect();
    const fault = failing(number);
    harness.interfere(fault.interference);
    const { run } = await harness.sync();
    harness.interfere({});
    const failed = fault.request();
    if (failed === undefined) return harness.expectMirror('After a sync');
    harness.note(`${failed.method} ${failed.path}, request ${number} of a first sync, was answered 500 each time.`);
    if (!(await isTold(harness, run))) await harness.expectMirror('After a sync that told of no trouble');
    harness.forgetNotes(notes);
  }
  harness.expect(false, `A first sync of a few items had more than ${mostRequests} requests.`);
}

/** The request with a number, and the same whenever it is tried again. */
function failing(number: number): { interference: Interference; request(): SourceRequest | undefined } {
  let count = 0;
  let failed: SourceRequest | undefined;
  const interference: Interference = {
    request(request) {
      count += 1;
      if (count === number) failed = request;
      const isIt = failed !== undefined && nameOf(request) === nameOf(failed);
      return isIt ? { status: 500, json: { error: 'broken' } } : undefined;
    },
  };
  return { interference, request: () => failed };
}

const nameOf = ({ method, path, query, body }: SourceRequest): string =>
  JSON.stringify([method, path, query, Buffer.from(body).toString('base64')]);

/** Whether anything says that memory may hold less than the source: the run, a partition or an item. */
async function isTold(harness: Harness, run: SyncRunRow | null): Promise<boolean> {
  if (run?.status !== 'completed' || run.warnings.length > 0) return true;
  const [told] = await harness.database.query<{ count: number }>(sql`
    select (select count(*) from sync_items where connection_id = ${harness.connectionId()} and state = 'failed')
      + (select count(*) from partitions where connection_id = ${harness.connectionId()}
        and (problem is not null or listing_incomplete is not null or unread <> '[]')) as count`);
  return (told?.count ?? 0) > 0;
}
