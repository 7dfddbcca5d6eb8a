import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';

export interface SeenRequest {
  body: { model: string; input: string[]; dimensions?: number; encoding_format?: string };
  authorization: string | undefined;
}

/** What the server answers instead of vectors, once. */
export interface PlannedAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Settings that a test may change between requests. */
export interface ServerSettings {
  apiKey?: string;
  dimensions: number;
  maxInputs: number;
  encoding: 'float' | 'base64';
  /** Sends the vectors in another order than the texts. */
  reversed: boolean;
  /** Answers wait until so many requests are open. */
  together: number;
}

export interface EmbeddingServer {
  baseUrl: string;
  settings: ServerSettings;
  /** In the order of arrival. */
  requests: SeenRequest[];
  /** The most requests that were open at the same time. */
  mostAtOnce(): number;
  /** Answers the next requests in this way. */
  plan(...answers: PlannedAnswer[]): void;
  close(): Promise<void>;
}

/** An OpenAI-compatible `/v1/embeddings` on loopback; its vectors are hashed words. */
export async function startEmbeddingServer(changes: Partial<ServerSettings> = {}): Promise<EmbeddingServer> {
  const settings: ServerSettings = {
    ...{ dimensions: 128, maxInputs: 64, encoding: 'float', reversed: false, together: 1 },
    ...changes,
  };
  const requests: SeenRequest[] = [];
  const planned: PlannedAnswer[] = [];
  let [open, mostAtOnce] = [0, 0];
  const waiting: (() => void)[] = [];

  async function untilTogether(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    if (waiting.length >= settings.together) for (const go of waiting.splice(0)) go();
    return promise;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    mostAtOnce = Math.max(mostAtOnce, ++open);
    const body = JSON.parse(await readText(request)) as SeenRequest['body'];
    const { authorization } = request.headers;
    requests.push({ body, authorization });
    const next = planned.shift() ?? (await serve(settings, request, body, authorization));
    await untilTogether();
    // Before the client can know, which may then send the next one.
    open--;
    response.writeHead(next.status, { 'content-type': 'application/json', ...next.headers });
    response.end(typeof next.body === 'string' ? next.body : JSON.stringify(next.body ?? {}));
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    settings,
    requests,
    mostAtOnce: () => mostAtOnce,
    plan: (...answers) => void planned.push(...answers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  settings: ServerSettings,
  request: IncomingMessage,
  { input }: SeenRequest['body'],
  authorization: string | undefined,
): Promise<PlannedAnswer> {
  if (request.url !== '/v1/embeddings') return { status: 404 };
  if (settings.apiKey !== undefined && authorization !== `Bearer ${settings.apiKey}`) return { status: 401 };
  if (input.length > settings.maxInputs || input.includes('')) return { status: 400 };
  const vectors = await createHashingEmbedder({ dimensions: settings.dimensions }).embed(input);
  const data = vectors.map((vector, index) => {
    // Not of unit length, as some servers answer.
    const values = vector.map((value) => value * 3);
    const embedding = settings.encoding === 'base64' ? Buffer.from(values.buffer).toString('base64') : [...values];
    return { object: 'embedding', index, embedding };
  });
  return { status: 200, body: { object: 'list', data: settings.reversed ? data.toReversed() : data } };
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return text;
}
