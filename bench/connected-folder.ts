import type { Daemon } from '../test/support/daemon.ts';
import { call } from '../test/support/memory-of.ts';
import { until, untilProcessed } from './daemon.ts';

/** A run as the daemon shows it. */
export interface FolderRun {
  status: string;
  itemsSeen: number;
  itemsSkipped: number;
  itemsUpdated: number;
  durationMs: number;
}

export interface ConnectedFolder {
  /** Resolves when the first sync is over and all documents are done; milliseconds since the folder was connected. */
  load(): Promise<number>;
  sync(): Promise<FolderRun>;
}

/** Has a daemon mirror a folder, as somebody does over HTTP. */
export async function connectFolder(
  daemon: Daemon,
  config: { path: string; watch?: boolean; pollEveryMs?: number },
): Promise<ConnectedFolder> {
  const started = performance.now();
  const connected = { containerTag: 'bench', metadata: config };
  const { id } = await call<{ id: string }>(daemon, 'POST', '/v3/connections/folder', connected);
  const runs = `/v3/connections/${id}/sync-runs`;

  async function finished(): Promise<any[] | null> {
    const answer = await call(daemon, 'GET', runs);
    return answer.some((run: { status: string }) => run.status !== 'completed') ? null : answer;
  }

  return {
    async load() {
      await until(async () => ((await finished()) ?? []).length > 0);
      await untilProcessed(daemon);
      return performance.now() - started;
    },
    async sync() {
      // One that begins by itself meanwhile makes the daemon refuse ours.
      await until(async () => (await finished()) !== null);
      const { id: runId } = await call(daemon, 'POST', `/v3/connections/${id}/sync`, {});
      let run: any;
      await until(async () => (run = ((await finished()) ?? []).find((one) => one.id === runId)) !== undefined);
      return { ...run, durationMs: Date.parse(run.completedAt) - Date.parse(run.startedAt) };
    },
  };
}
