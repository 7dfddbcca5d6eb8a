/** A client in a thread of its own: sends the requests that it is told to, and answers how long they took. */
import { parentPort } from 'node:worker_threads';
import { Agent, request } from 'undici';

export interface Load {
  origin: string;
  method: 'GET' | 'POST';
  /** Each path is asked for once, in turn. */
  paths: string[];
  /** One for each path; none for GET. */
  bodies?: string[];
  headers: Record<string, string>;
  atOnce: number;
}

const agent = new Agent({ connections: 64 });

parentPort!.on('message', (load: Load) => {
  send(load).then(
    (durationMs) => parentPort!.postMessage({ durationMs }),
    (error: unknown) => parentPort!.postMessage({ error: String(error) }),
  );
});

async function send({ origin, method, paths, bodies, headers, atOnce }: Load): Promise<number> {
  let next = 0;
  const started = performance.now();
  const worker = async () => {
    while (next < paths.length) {
      const index = next++;
      const body = bodies?.[index] ?? null;
      const response = await request(origin + paths[index]!, { method, headers, body, dispatcher: agent });
      const text = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`${method} ${paths[index]} ${response.statusCode}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return performance.now() - started;
}
