import type { Transaction } from '../store/database.ts';
import { ensureContainers } from '../store/documents.ts';
import { setConnectionAccount, insertConnection, requestSync } from '../store/connections.ts';
import { startRun } from '../store/sync-runs.ts';
import { newId } from '../base/ids.ts';
import { quietUntil } from '../schedule/connection-schedule.ts';
import type { MemorySettings } from './connection-types.ts';
import type { JsonObject } from '../connector/contract.ts';
import { pushProvider } from '../inbound/push/push-service.ts';

/** A checked connection that is not made yet: JSON, because it may have to wait for the user's consent. */
export interface ConnectionPlan extends Partial<MemorySettings> {
  containerTag: string;
  /** Without secrets. */
  config: JsonObject;
  metadata: JsonObject;
  /** Secret settings, and fields of the authorization. */
  fields: JsonObject;
  documentLimit: number | null;
  onSourceDelete: 'delete' | 'keep';
  filters: JsonObject;
  /** It is not synced before somebody resumes it. */
  paused?: boolean | undefined;
  schedule: string | null;
  allowedHours: string | null;
  syncEveryMs: number | null;
}

/** The account at the source, as it names itself. */
export interface SourceAccount {
  id: string;
  email: string | null;
}

/** Makes the connection, and asks for its first sync, unless it is to wait. */
export async function storePlan(
  tx: Transaction,
  target: { id: string; provider: string; account: SourceAccount | null; now: Date },
  plan: ConnectionPlan,
): Promise<void> {
  const { id, provider, account, now } = target;
  const { containerTag, fields: _, paused = false, ...columns } = plan;
  await ensureContainers(tx, [{ tag: containerTag, id: newId(now) }], now);
  const isPushed = provider === pushProvider;
  const row = { ...columns, id, provider, containerTag, status: paused ? 'paused' : 'active', now };
  await insertConnection(tx, isPushed || paused ? { ...row, nextSyncAt: null } : row);
  if (account) await setConnectionAccount(tx, id, account);
  // Items that are pushed are not asked for.
  if (isPushed || paused) return;
  const waits = quietUntil({ allowedHours: plan.allowedHours, requestedSync: null }, now) !== null;
  // A run that is shown as running for hours would look lost.
  if (!waits) await startRun(tx, { id: newId(now), connectionId: id, mode: 'full', triggerType: 'event', now });
  await requestSync(tx, id, { mode: 'full', trigger: 'event' }, { now });
}
