import type { Partition } from 'memoryd/connector';

export const partitionId = 'pages';

/** One for all pages: they move between databases, and stay the same pages. */
export const partitions: Partition[] = [{ id: partitionId, title: 'Pages' }];
