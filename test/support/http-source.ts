import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAddressGuard, type AddressGuardOptions } from '../../src/base/address-guard.ts';
import { newId } from '../../src/base/ids.ts';
import { createLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Authorization } from '../../src/auth/authorization.ts';
import type { ConnectorSpec } from '../../src/connector/contract.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { insertConnection } from '../../src/store/connections.ts';
import type { Database } from '../../src/store/database.ts';
import { createTestClock, type TestClock } from './clock.ts';

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Handler = (request: SeenRequest, response: ServerResponse, count: number) => unknown;

/** A real HTTP server on loopback that answers as the test says, and what it was asked. */
export async function startSource(handler: Handler) {
  const requests: SeenRequest[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const seen = { method: request.method!, url: request.url!, headers: request.headers, body };
    requests.push(seen);
    await handler(seen, response, requests.length);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Source = Awaited<ReturnType<typeof startSource>>;

/** Answers JSON. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A clock that moves on by itself when somebody sleeps; `slept` are the waits. */
export function createImpatientClock(start?: string): TestClock & { slept: number[] } {
  const clock = createTestClock(start);
  const slept: number[] = [];
  return {
    ...clock,
    slept,
    async sleep(ms, signal) {
      if (signal?.aborted) return;
      slept.push(ms);
      clock.advance(ms);
    },
  };
}

export interface OpenOptions {
  database: Database;
  clock: TestClock;
  spec?: Partial<ConnectorSpec>;
  config?: unknown;
  authorization?: Authorization | null;
  signal?: AbortSignal;
  guard?: Partial<AddressGuardOptions>;
  /** Default: a new connection. */
  connectionId?: string | null;
  random?: () => number;
  connectionsPerHost?: number;
}

/** `ctx.http` of one connection in a process of its own, and what that process logged and counted. */
export async function openHttp(options: OpenOptions) {
  const { database, clock } = options;
  const lines: string[] = [];
  const metrics = createMetrics();
  const outbound = createOutbound({
    database,
    clock,
    log: createLogger('debug', { write: (line) => void lines.push(line) }),
    guard: createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [], ...options.guard }),
    metrics,
    random: options.random ?? (() => 0.5),
    ...(options.connectionsPerHost === undefined ? {} : { connectionsPerHost: options.connectionsPerHost }),
  });
  const connectionId = options.connectionId === undefined ? await addConnection(database, clock) : options.connectionId;
  const source = outbound.open({
    spec: { ...standardSpec, ...options.spec },
    config: options.config ?? {},
    connectionId,
    authorization: options.authorization ?? null,
    signal: options.signal ?? new AbortController().signal,
  });
  return { ...source, connectionId, lines, metrics, close: () => outbound.close() };
}

const standardSpec: ConnectorSpec = {
  name: 'acme',
  version: '1.0.0',
  title: 'Acme',
  kind: 'other',
  description: 'A source for tests.',
  config: { type: 'object' },
  auth: [],
};

export async function addConnection(database: Database, clock: TestClock): Promise<string> {
  const now = clock.now();
  const id = newId(now);
  await database.transaction((tx) =>
    insertConnection(tx, {
      id,
      provider: 'acme',
      containerTag: 'test',
      status: 'active',
      config: {},
      metadata: {},
      documentLimit: null,
      onSourceDelete: 'delete',
      schedule: null,
      syncEveryMs: null,
      now,
    }),
  );
  return id;
}

/** A bearer token that can be replaced; renewals under way are joined, as the real one does. */
export function createToken(renewed: () => Promise<string | null> = async () => null) {
  let token = 'token-1';
  let renewing: Promise<boolean> | null = null;
  const authorization: Authorization & { renewals: number } = {
    renewals: 0,
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    async renew(refused) {
      if (refused['Authorization'] !== `Bearer ${token}`) return true;
      renewing ??= replace().finally(() => (renewing = null));
      return renewing;
    },
    token: async () => token,
    secret: async () => '',
  };
  async function replace(): Promise<boolean> {
    authorization.renewals += 1;
    const next = await renewed();
    if (next === null) return false;
    token = next;
    return true;
  }
  return authorization;
}
