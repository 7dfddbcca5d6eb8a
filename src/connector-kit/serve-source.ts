import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the source sees it. */
export interface SourceRequest {
  /** Counted from 1. */
  number: number;
  method: string;
  path: string;
  /** Of a parameter that comes several times the last value; `search` has all. */
  query: Record<string, string>;
  search?: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** By the kit's clock. */
  at: Date;
  /** The parsed body. Throws when it is not JSON. */
  json(): any;
}

/** Status 200 unless it says otherwise; `json` is sent with its content type. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string | Uint8Array;
}

/** The outcome of a request: an answer, or a fault in place of it. */
export type Fault =
  | Answer
  /** The connection is cut before the answer. */
  | 'reset'
  /** No answer ever comes. */
  | 'silence'
  /** The connection is cut in the middle of the answer. */
  | 'truncate';

export type Interceptor = (request: SourceRequest) => Fault | undefined | void | Promise<Fault | undefined | void>;

/** The requests that a source gets, and a hand on each of them. */
export interface Traffic {
  /** How many there were. */
  count(): number;
  /** The last ones, at most 1,000. */
  recent(): readonly SourceRequest[];
  /** How many are being answered. Those that get silence do not count. */
  inFlight(): number;
  /** Sees each request before it is answered, and can put a fault in place of the answer. Null: no more. */
  intercept(interceptor: Interceptor | null): void;
}

export interface SourceServer {
  /** Without a slash at the end. */
  url: string;
  traffic: Traffic;
  /** How far the `date` header is ahead of the clock. */
  setClockSkew(ms: number): void;
  close(): Promise<void>;
}

const kept = 1_000;

/** A small HTTP server on this machine that stands for a source. `answer` says what each request gets, or that it gets none. */
export async function serveSource(options: {
  clock: { now(): Date };
  answer(request: SourceRequest): Fault | Promise<Fault>;
}): Promise<SourceServer> {
  const { clock } = options;
  const recent: SourceRequest[] = [];
  let count = 0;
  let inFlight = 0;
  let skewMs = 0;
  let interceptor: Interceptor | null = null;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    inFlight += 1;
    const ended = once(response, 'close').then(() => (inFlight -= 1));
    const request = await readRequest(incoming, ++count, clock.now());
    if (recent.push(request) > 2 * kept) recent.splice(0, kept);
    const given = (await interceptor?.(request)) ?? undefined;
    const answer = given === undefined || given === 'truncate' ? await options.answer(request) : given;
    if (answer === 'silence') {
      inFlight -= 1;
      return void ended.then(() => (inFlight += 1));
    }
    if (typeof answer === 'string') return void incoming.socket.destroy();
    response.setHeader('date', new Date(clock.now().getTime() + skewMs).toUTCString());
    send(response, answer, given === 'truncate');
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      response.writeHead(500).end(`The source of this test failed: ${String(error)}`);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    traffic: {
      count: () => count,
      recent: () => recent.slice(-kept),
      inFlight: () => inFlight,
      intercept: (next) => void (interceptor = next),
    },
    setClockSkew: (ms) => void (skewMs = ms),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequest(incoming: IncomingMessage, number: number, at: Date): Promise<SourceRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const { pathname, search, searchParams } = new URL(incoming.url ?? '/', 'http://source');
  return {
    number,
    method: incoming.method ?? 'GET',
    path: pathname,
    query: Object.fromEntries(searchParams),
    search,
    headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
    body,
    at,
    json: () => JSON.parse(body.toString('utf8')),
  };
}

function send(response: ServerResponse, answer: Answer, truncated: boolean): void {
  const { status = 200, headers = {}, json } = answer;
  const body = Buffer.from(json === undefined ? (answer.body ?? '') : JSON.stringify(json));
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, 'content-length': body.length + (truncated ? 1 : 0), ...headers });
  if (!truncated) return void response.end(body);
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}
