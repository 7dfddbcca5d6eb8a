import { rawSql } from './sql.ts';

/**
 * Why the scope of a connection leaves an item out. Such an item is `skipped` with the reason as its
 * error class; it stays in the ledger, so that it comes in when the scope changes.
 *
 * - `filtered`: the connection's filters do not pass it;
 * - `out_of_scope`: it is in none of the selected folders, or it is not known yet in which it is;
 * - `over_limit`: newer items take all that the connection may mirror.
 */
export type ScopeReason = 'filtered' | 'out_of_scope' | 'over_limit';

/** On an item `i`: it has, or is to have, a document. */
export const isMirrored = rawSql(`i.state in ('pending', 'held', 'fetching', 'failed', 'done')`);

/** On an item `i`: the scope leaves it out. */
export const isLeftOut = rawSql(
  `(i.state = 'skipped' and i.error_class in ('filtered', 'out_of_scope', 'over_limit'))`,
);
