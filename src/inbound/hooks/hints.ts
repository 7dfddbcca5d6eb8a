import { maxHintedIds, type RequestedSync } from '../../store/connections.ts';
import type { Connector, Hint } from '../../connector/contract.ts';

/** The sync that serves some hints: a look at just the named ids when the connector can do that, else at everything. */
export function requestFor(connector: Connector<any, any>, hints: readonly Hint[]): RequestedSync {
  const everything = { mode: 'incremental', trigger: 'event' } as const;
  if (!connector.lookup) return everything;
  const gathered = new Map<string, Set<string>>();
  for (const { partition, ids } of hints) {
    if (partition === undefined || ids === undefined) return everything;
    const known = gathered.get(partition) ?? new Set();
    for (const id of ids) known.add(id);
    if (known.size > maxHintedIds) return everything;
    gathered.set(partition, known);
  }
  return { ...everything, hints: Object.fromEntries([...gathered].map(([name, ids]) => [name, [...ids]])) };
}
