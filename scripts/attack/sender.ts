import { Agent, request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';

export interface Sent {
  method: string;
  path: string;
  key?: string | null;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
}

export interface Answered {
  /** 0: the connection ended without an answer; the text says why. */
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Sender {
  send(sent: Sent): Promise<Answered>;
  /** How many answers there were of each status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly total: number;
  close(): void;
}

/** Longer than the daemon lets any request wait. */
const patienceMs = 150_000;
/** Of an answer; the rest is read and thrown away. */
const keptCharacters = 5_000_000;

/** Sends to one daemon on this machine and to nothing else; redirects are answers like others. */
export function createSender(url: string): Sender {
  const { hostname, port } = new URL(url);
  if (hostname !== '127.0.0.1' && hostname !== 'localhost') throw new Error('Only loopback is attacked');
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const statuses = new Map<number, number>();
  let total = 0;

  function once(given: Sent): Promise<Answered> {
    const { method, path, key, headers = {}, body } = given;
    return new Promise((resolve) => {
      const sentHeaders: OutgoingHttpHeaders = {
        ...(typeof key === 'string' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      };
      const lost = (error: Error) => resolve({ status: 0, headers: {}, text: error.message });
      try {
        const sent = request({
          host: '127.0.0.1',
          port,
          method,
          path,
          headers: sentHeaders,
          agent,
          timeout: patienceMs,
        });
        sent.on('timeout', () => sent.destroy(new Error(`nothing for ${patienceMs / 1000} seconds`)));
        // The server may close a connection that rested at the moment in which it is used again.
        sent.on('error', (error) => (sent.reusedSocket && wasReset(error) ? resolve(once(given)) : lost(error)));
        sent.on('response', (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (part: string) => (text += text.length < keptCharacters ? part : ''));
          response.on('error', lost);
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        });
        sent.end(body);
      } catch {
        // What Node itself does not send (a line end in a header) cannot be tried this way.
        resolve({ status: -1, headers: {}, text: '' });
      }
    });
  }

  return {
    async send(sent) {
      const answered = await once(sent);
      if (answered.status === -1) return answered;
      total += 1;
      statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1);
      return answered;
    },
    statuses,
    get total() {
      return total;
    },
    close: () => agent.destroy(),
  };
}

function wasReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

/** Runs the work on several at once. */
export async function inParallel<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
    }),
  );
}
