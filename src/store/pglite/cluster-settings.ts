/**
 * The settings of every embedded cluster, written to its postgresql.conf at each start. There is
 * one session and no background process. Measured with 4,000 chunks of 384 dimensions on two cores.
 */
export const clusterSettings: string[] = [
  // 8 MB saves 20 MB of memory, 128 MB costs 80 MB; neither changed inserts or searches.
  'shared_buffers = 32MB',
  // What a checkpoint makes unnecessary goes, instead of being kept for later use: after 1,000 documents of 2 KB
  // that was most of the directory.
  'wal_recycle = off',
  'wal_init_zero = off',
  'min_wal_size = 8MB',
  'max_wal_size = 64MB',
  // Nobody replays the log elsewhere: an index build writes none of it (7 MB otherwise).
  'wal_level = minimal',
  'max_wal_senders = 0',
  // No autovacuum empties the pending list of a GIN index, and every search reads it: with the
  // default of 4 MB a lookup took 11 ms at the median and single inserts 580 ms, with this 0.7 and 100 ms.
  'gin_pending_list_limit = 512kB',
  // A statement's text holds content, and the engine's output goes into error messages.
  'log_min_error_statement = panic',
  'log_statement = none',
];

/** Settings that are fixed when a cluster is made. Small log segments: 31 MB for an empty cluster instead of 39. */
export const initSettings: string[] = ['--wal-segsize=4'];
