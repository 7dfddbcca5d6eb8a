import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { PgliteOptions } from '../../src/store/pglite/open-pglite.ts';

/** A process of its own that uses an embedded database and can be killed in the middle of it. */
export interface PgliteProcess {
  readonly pid: number;
  /** Lines it printed so far: `open`, then `wrote <n>` for each acknowledged transaction. */
  readonly lines: string[];
  /** Resolves when `condition` holds, looked at after each line; rejects when the process ends before. */
  until(condition: (lines: readonly string[]) => boolean): Promise<void>;
  /** SIGKILL: no handler runs, nothing is flushed. */
  kill(): Promise<void>;
  /** Resolves with the exit code when it ends by itself. */
  ended(): Promise<number | null>;
}

export type PgliteTask =
  /** Opens and stays open. */
  | 'hold'
  /** Opens, and inserts into `pairs_a` and `pairs_b` in one transaction after another. */
  | 'write'
  /** Opens, writes a row and calls `process.exit`. */
  | 'exit';

/** What a new cluster is made of; by initdb without any. */
export type ClusterOrigin = Pick<PgliteOptions, 'templateFile' | 'preparedFile'>;

export function startPgliteProcess(task: PgliteTask, dataDir: string, origin: ClusterOrigin = {}): PgliteProcess {
  const script = new URL('./pglite-process-main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, task, dataDir, JSON.stringify(origin)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  const exit = once(child, 'exit') as Promise<[number | null]>;
  return {
    pid: child.pid!,
    lines,
    until: (condition) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (condition(lines)) resolve();
        };
        output.on('line', look);
        output.once('close', () => reject(new Error(`The process ended after: ${lines.slice(-5).join(', ')}`)));
        look();
      }),
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
    ended: async () => (await exit)[0],
  };
}
