import type { ConnectionRow } from '../store/connections.ts';
import type { PartitionRow } from '../store/partitions.ts';
import type { PartitionIssue } from './connection-types.ts';
import { unreadMessage } from '../sync/check-page.ts';

/** Problems that keep a connection from mirroring all of its source at once, by partition. */
export function issuesOf(
  { status, unwatched }: Pick<ConnectionRow, 'status' | 'unwatched'>,
  partitions: readonly PartitionRow[],
): PartitionIssue[] {
  const late = status === 'active' && unwatched !== null ? [unwatchedIssue(unwatched)] : [];
  return [...partitions.flatMap(issueOf), ...late];
}

function unwatchedIssue(reason: string): PartitionIssue {
  return { partition: null, title: null, state: 'paused', code: 'unwatched', reason, until: null };
}

function issueOf(row: PartitionRow): PartitionIssue[] {
  const { id, title, state, problem, stateReason, parkedUntil, missingSince, removeAt } = row;
  if (missingSince !== null) {
    const reason = stateReason ?? 'The source no longer shows it.';
    return [{ partition: id, title, state: 'paused', code: 'missing', reason, until: removeAt }];
  }
  const partial = partialIssue(row);
  if (problem === null) return partial;
  const left = state === 'paused' ? 'paused' : 'parked';
  const reason = stateReason ?? problem;
  return [{ partition: id, title, state: left, code: problem, reason, until: parkedUntil }, ...partial];
}

/** Parts that the last listing could not see; somebody has to grant access. */
function partialIssue(row: PartitionRow): PartitionIssue[] {
  const { id, title, unread, listingIncomplete, listingStartedAt } = row;
  const reasons = [
    ...(unread.length > 0 ? [unreadMessage(unread)] : []),
    ...(listingIncomplete !== null && listingStartedAt === null
      ? [`Nothing is removed, because the last listing was not complete: ${listingIncomplete}`]
      : []),
  ];
  const issue = { partition: id, title, state: 'paused', code: 'incomplete_listing', until: null } as const;
  return reasons.map((reason) => ({ ...issue, reason }));
}
