import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Api } from './context.ts';

interface Answer {
  status: number;
  contentType: string;
  text: string;
}

interface Entry {
  bodyHash: string | null;
  expiresAtMs: number;
  /** Resolves to null when the answer is not one to repeat. */
  answer: Promise<Answer | null>;
  settle(answer: Answer | null): void;
  bytes: number;
}

const retryTtlMs = 10 * 60_000;
const keyTtlMs = 24 * 60 * 60_000;
const maxEntries = 10_000;
const maxBytes = 16 * 1024 * 1024;

/**
 * Section 6.3: a repeated POST gets the first answer instead of being done again. In memory of
 * this process, bounded; the oldest answers are forgotten first. A repetition that arrives while
 * the first one is still worked on waits for it, also when the first client has gone away.
 */
export function replayAnswers(app: Api, clock: Clock): void {
  const store = createAnswerStore(clock);
  const recording = new WeakMap<FastifyRequest, Entry>();

  app.addHook('preHandler', async (request, reply) => {
    const wanted = wantedReplay(request);
    if (!wanted) return;
    const known = store.find(wanted.name);
    if (known && wanted.byKey && known.bodyHash !== request.bodyHash) throw differentBody();
    const answer = known && wanted.repeats ? await known.answer : null;
    if (answer) return replay(reply, answer);
    recording.set(request, store.open(wanted.name, request.bodyHash, wanted.ttlMs));
  });

  app.addHook('onSend', async (request, reply, payload) => {
    const entry = recording.get(request);
    if (entry) store.close(entry, answerOf(request, reply, payload));
  });
}

interface WantedReplay {
  name: string;
  byKey: boolean;
  /** Whether this request may be a repetition; a first one is only remembered. */
  repeats: boolean;
  ttlMs: number;
}

/** What to look under. An `Idempotency-Key` counts on every POST; retries of the client on marked routes. */
function wantedReplay(request: FastifyRequest): WantedReplay | null {
  if (request.method !== 'POST' || !request.caller) return null;
  const place = `${request.caller.keyId} ${request.url}`;
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') {
    if (key === '' || key.length > 255) {
      throw new MemorydError('invalid_request', 'Idempotency-Key must be 1 to 255 characters');
    }
    return { name: `key ${place} ${key}`, byKey: true, repeats: true, ttlMs: keyTtlMs };
  }
  if (!request.routeOptions.config.replay) return null;
  const repeats = Number(request.headers['x-stainless-retry-count']) > 0;
  return { name: `body ${place} ${request.bodyHash}`, byKey: false, repeats, ttlMs: retryTtlMs };
}

/** A retry repeats accepted requests only; under an Idempotency-Key refusals are kept, too. */
function answerOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): Answer | null {
  const isKept = reply.statusCode < (request.headers['idempotency-key'] === undefined ? 300 : 500);
  if (!isKept || typeof payload !== 'string') return null;
  return { status: reply.statusCode, contentType: String(reply.getHeader('content-type')), text: payload };
}

function replay(reply: FastifyReply, { status, contentType, text }: Answer): FastifyReply {
  return reply.code(status).header('idempotent-replayed', 'true').type(contentType).serializer(String).send(text);
}

function differentBody(): MemorydError {
  return new MemorydError('conflict', 'This Idempotency-Key was used with another body', { shouldRetry: false });
}

function createAnswerStore(clock: Clock) {
  const entries = new Map<string, Entry>();
  let totalBytes = 0;

  function drop(name: string, entry: Entry): void {
    if (entries.get(name) !== entry) return;
    entries.delete(name);
    totalBytes -= entry.bytes;
    entry.bytes = 0;
  }

  function makeRoom(): void {
    const nowMs = clock.now().getTime();
    for (const [name, entry] of entries) {
      const isFull = entries.size > maxEntries || totalBytes > maxBytes;
      if (!isFull && entry.expiresAtMs > nowMs) return;
      drop(name, entry);
    }
  }

  return {
    find(name: string): Entry | null {
      const entry = entries.get(name);
      return entry && entry.expiresAtMs > clock.now().getTime() ? entry : null;
    },
    open(name: string, bodyHash: string | null, ttlMs: number): Entry {
      const { promise, resolve } = Promise.withResolvers<Answer | null>();
      const expiresAtMs = clock.now().getTime() + ttlMs;
      const entry: Entry = { bodyHash, expiresAtMs, answer: promise, bytes: name.length, settle: resolve };
      entry.settle = (answer) => {
        if (answer === null) drop(name, entry);
        else if (entries.get(name) === entry) {
          entry.bytes += answer.text.length;
          totalBytes += answer.text.length;
        }
        resolve(answer);
      };
      const previous = entries.get(name);
      if (previous) drop(name, previous);
      entries.set(name, entry);
      totalBytes += entry.bytes;
      makeRoom();
      return entry;
    },
    close: (entry: Entry, answer: Answer | null) => entry.settle(answer),
  };
}
