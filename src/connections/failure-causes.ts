import { errorTable } from '../base/errors.ts';
import type { FailureCauseRow } from '../store/sync-items-list.ts';
import type { FailureCause } from './items.ts';

/** What can be done, by error class; the codes of documents have theirs in the table of errors. */
const remedies: Readonly<Record<string, string>> = {
  auth_expired: 'Authorize the connection again.',
  forbidden: 'Give the account of the connection access to it at the source.',
  no_access: 'Give the account of the connection access to it at the source.',
  rate_limited: 'Nothing needs to be done: the source allows few requests, and it is tried again by itself.',
  transient: 'Nothing needs to be done: it is tried again by itself.',
  bad_config: 'Correct the configuration of the connection.',
  source_missing: 'Correct the configuration of the connection, if what it mirrors has moved.',
  too_large: 'Split it, or raise the limit in the configuration.',
  unsupported_type: 'Convert it to a type that is read.',
  binary: 'Nothing can be done: it holds no text.',
  encrypted: 'Take its protection off at the source.',
  empty: 'Nothing needs to be done: it is read once there is something in it.',
  filtered: 'Change the filters of the connection, if it belongs in memory.',
  out_of_scope: 'Select the folder that it lies in.',
  over_limit: 'Raise the number of documents that the connection may mirror.',
};

/** The scope of the connection decides about these, not another attempt. */
const leftOut = ['filtered', 'out_of_scope', 'over_limit'];
/** Their next attempt comes by itself. */
const byItself = ['transient', 'rate_limited'];

export function toFailureCause({ state, errorClass, ...row }: FailureCauseRow): FailureCause {
  return {
    ...row,
    state: state as FailureCause['state'],
    errorClass,
    remedy: errorClass === null ? null : remedyOf(errorClass, state),
    retriable: errorClass === null || !leftOut.includes(errorClass),
  };
}

function remedyOf(errorClass: string, state: string): string | null {
  if (state === 'dead' && byItself.includes(errorClass)) return 'Try it again: it is not tried by itself any more.';
  const known = remedies[errorClass];
  if (known !== undefined) return known;
  return Object.hasOwn(errorTable, errorClass) ? errorTable[errorClass as keyof typeof errorTable].remedy : null;
}
