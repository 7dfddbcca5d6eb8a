import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** A process that runs `queue-worker.ts`. */
export interface WorkerProcess {
  readonly lines: readonly string[];
  says(line: string): Promise<void>;
  kill(): Promise<void>;
  /** Asks it to end, and waits until it has. */
  end(): Promise<void>;
}

export function startWorker(url: string, prefix: string, durationMs: number): WorkerProcess {
  const program = fileURLToPath(new URL('./queue-worker.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, url, prefix, String(durationMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  let rest = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop()!;
    lines.push(...parts);
  });
  const send = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  return {
    lines,
    says: (line) => expect.poll(() => lines, { timeout: 10_000 }).toContain(line),
    kill: () => send('SIGKILL'),
    end: () => send('SIGTERM'),
  };
}
