import type { FailureCause, PendingDeletes, SyncItem } from '../../connections/items.ts';
import type { ItemAnswer } from '../schemas/items.ts';

export function itemView(item: SyncItem): ItemAnswer {
  return {
    ...item,
    nextRetryAt: item.nextRetryAt?.toISOString() ?? null,
    updatedAt: item.updatedAt.toISOString(),
  };
}

export function failureView({ errorClass, error, lastAt, nextRetryAt, ...cause }: FailureCause) {
  return {
    ...cause,
    class: errorClass,
    message: error,
    lastAt: lastAt.toISOString(),
    nextRetryAt: nextRetryAt?.toISOString() ?? null,
  };
}

export function pendingDeletesView({ partitions, items }: PendingDeletes) {
  return {
    count: partitions.reduce((sum, { count, confirmed }) => sum + (confirmed ? 0 : count), 0),
    partitions: partitions.map((partition) => ({ ...partition, heldAt: partition.heldAt.toISOString() })),
    items: items.entries.map(itemView),
    next: items.next,
  };
}
