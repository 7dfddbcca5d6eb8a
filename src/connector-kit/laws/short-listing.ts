import { sql } from '../../store/sql.ts';
import type { SyncRunRow } from '../../store/sync-runs.ts';
import { firstOf, needsAsking, needsWorld, type Law } from '../law.ts';
import type { Interference } from '../scene.ts';
import type { SourceRequest } from '../serve-source.ts';
import type { Trial } from '../trial.ts';

/**
 * Law 24: a part of a source that fails is told. A connector that takes the failure for the end of a listing, or for
 * an empty drive, has mirrored less than there is, and says that it is done.
 */
export const shortListingLaws: readonly Law[] = [
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

async function failOneByOne(trial: Trial): Promise<void> {
  await trial.populate(7);
  for (let number = 1; number <= mostRequests; number++) {
    const notes = trial.notes();
    if (number > 1) await trial.reconnect();
    const fault = failing(number);
    trial.interfere(fault.interference);
    const { run } = await trial.sync();
    trial.interfere({});
    const failed = fault.request();
    if (failed === undefined) return trial.expectMirror('After a sync');
    trial.note(`${failed.method} ${failed.path}, request ${number} of a first sync, was answered 500 each time.`);
    if (!(await isTold(trial, run))) await trial.expectMirror('After a sync that told of no trouble');
    trial.forgetNotes(notes);
  }
  trial.expect(false, `A first sync of a few items had more than ${mostRequests} requests.`);
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
async function isTold(trial: Trial, run: SyncRunRow | null): Promise<boolean> {
  if (run?.status !== 'completed' || run.warnings.length > 0) return true;
  const [told] = await trial.database.query<{ count: number }>(sql`
    select (select count(*) from sync_items where connection_id = ${trial.connectionId()} and state = 'failed')
      + (select count(*) from partitions where connection_id = ${trial.connectionId()}
        and (problem is not null or listing_incomplete is not null or unread <> '[]')) as count`);
  return told!.count > 0;
}
