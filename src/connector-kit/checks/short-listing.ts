import { sql } from '../../store/sql.ts';
import type { SyncRunRow } from '../../store/sync-runs.ts';
import { firstOf, needsAsking, needsWorld, type Check } from '../check.ts';
import type { Interference } from '../setup.ts';
import type { SourceRequest } from '../serve-source.ts';
import type { Harness } from '../harness.ts';

/**
 * Check 24: a part of a source that fails is told. A connector that takes the failure for the end of a listing, or for
 * an empty drive, has mirrored less than there is, and says that it is done.
 */
export const shortListingChecks: readonly Check[] = [
  {
    number: 24,
    name: 'one-request',
    title: 'a first sync in which one request fails for good never ends as done with less than there is',
    missing: (subject) => firstOf(needsAsking(subject), needsWorld(subject.world, 'traffic')),
    timeoutMs: 240_000,
    run: failOneByOne,
  },
];

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
