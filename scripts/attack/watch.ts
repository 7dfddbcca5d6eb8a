import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

export interface Seen {
  /** Of `GET /health`, in milliseconds. */
  p99: number;
  worst: number;
  samples: number;
  /** The most memory that the process had at a time; null where the system does not tell. */
  peakMb: number | null;
}

/** Asks `/health` all the time until `end`, in a thread of its own: the attacker is busy itself. */
export function watchDaemon({ url, pid }: { url: string; pid: number }) {
  const worker = new Worker(new URL('../attack-health.ts', import.meta.url), { workerData: `${url}/health` });

  return {
    peakMb: () => peakOf(pid),
    async end(): Promise<Seen> {
      const told = once(worker, 'message');
      worker.postMessage('end');
      const [times] = (await told) as [number[]];
      await worker.terminate();
      const sorted = times.toSorted((left, right) => left - right);
      return {
        p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
        worst: sorted.at(-1) ?? 0,
        samples: sorted.length,
        peakMb: await peakOf(pid),
      };
    },
  };
}

async function peakOf(pid: number): Promise<number | null> {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) / 1024;
  } catch {
    return null;
  }
}
