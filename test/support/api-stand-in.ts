import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface StandInRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingMessage['headers'];
  text: string;
  /** Parsed when it is JSON, else empty. */
  body: Record<string, unknown>;
}

/** Answers a body (200), `[status, body]`, or text as it is. */
type StandInAnswer = object | string | [status: number, body: object | string];

export interface ApiStandIn {
  url: string;
  requests: StandInRequest[];
  /** `METHOD path` of each request. */
  seen(): string[];
  /** Routes by `METHOD path`; the last one set counts. */
  on(route: string, answer: (request: StandInRequest) => StandInAnswer): void;
  close(): Promise<void>;
}

export const goodKey = 'sm_test_goodkey';

/** A real HTTP server that speaks like the daemon as far as a test tells it to. */
export async function startApiStandIn(authorization = `Bearer ${goodKey}`): Promise<ApiStandIn> {
  const requests: StandInRequest[] = [];
  const routes = new Map<string, (request: StandInRequest) => StandInAnswer>();
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await readRequest(incoming);
    requests.push(request);
    const isGood = request.headers.authorization === authorization;
    const [status, body] = isGood ? respond(request, routes) : [401, { error: 'Unauthorized' }];
    const isText = typeof body === 'string';
    response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' });
    response.end(isText ? body : JSON.stringify(body));
  };
  const server = createServer((incoming, response) => void answer(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    seen: () => requests.map(({ method, path }) => `${method} ${path}`),
    on: (route, respondWith) => void routes.set(route, respondWith),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<StandInRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const isJson = incoming.headers['content-type']?.includes('json');
  const { method, url, headers } = incoming;
  return {
    method: method!,
    path: url!,
    headers,
    text,
    body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

function respond(
  request: StandInRequest,
  routes: Map<string, (request: StandInRequest) => StandInAnswer>,
): [number, object | string] {
  const route = routes.get(`${request.method} ${request.path.split('?')[0]}`);
  if (!route) return [404, { error: 'Not found' }];
  const answer = route(request);
  return Array.isArray(answer) && typeof answer[0] === 'number' ? (answer as [number, object]) : [200, answer];
}
