import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Idempotency, KeptAnswer } from '../account/idempotency.ts';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Api } from './request.ts';

type Answer = KeptAnswer;

export interface ReplayOptions {
  clock: Clock;
  log: Logger;
  idempotency: Idempotency;
}

interface Entry {
  openedAtMs: number;
  /** Resolves to null when the answer is not one to repeat. */
  answer: Promise<Answer | null>;
  settle(answer: Answer | null): void;
  bytes: number;
}

const retryTtlMs = 10 * 60_000;
/** The 5.x client asks again after one second and three, and does not say that it does. */
const unsaidTtlMs = 10_000;
const maxEntries = 10_000;
const maxBytes = 16 * 1024 * 1024;

/**
 * Section 6.3 of the API: a repeated POST gets the first answer instead of being done again. Answers under an
 * `Idempotency-Key` are kept for all processes, unless they hold a secret. Those that the official client may ask for again are in
 * memory of this process, bounded; the oldest are forgotten first. A repetition that arrives while the
 * first one is still worked on waits for it, also when the first client has gone away.
 */
export function replayAnswers(app: Api, { clock, log, idempotency }: ReplayOptions): void {
  const store = createAnswerStore(clock);
  const recording = new WeakMap<FastifyRequest, (answer: Answer | null) => Promise<void> | void>();

  app.addHook('preHandler', async (request, reply) => {
    const wanted = wantedReplay(request);
    if (!wanted) return;
    if (wanted.byKey) {
      const begun = await idempotency.begin(wanted.name, request.bodyHash);
      if ('answer' in begun) return replay(reply, begun.answer);
      recording.set(request, (answer) => idempotency.end(begun.first, answer));
      return;
    }
    const answer = await store.find(wanted.name, wanted.withinMs)?.answer;
    if (answer) return replay(reply, answer);
    const entry = store.open(wanted.name);
    recording.set(request, (own) => entry.settle(own));
  });

  app.addHook('onSend', async (request, reply, payload) => {
    const end = recording.get(request);
    recording.delete(request);
    try {
      await end?.(answerOf(request, reply, payload));
    } catch (error) {
      // The request is done and answered; only a repetition would be done again.
      log.warn({ err: error, requestId: request.id }, 'an answer could not be kept for repetitions');
    }
  });
}

interface WantedReplay {
  name: string;
  byKey: boolean;
  /** How long ago the request may have been that this one repeats; 0: it repeats none, and is only remembered. */
  withinMs: number;
}

/** The key of a stored answer to replay. An `Idempotency-Key` counts on every POST, the client's retry mark on marked routes. */
function wantedReplay(request: FastifyRequest): WantedReplay | null {
  if (request.method !== 'POST' || !request.caller) return null;
  const place = `${request.caller.keyId} ${request.url}`;
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') {
    if (key === '' || key.length > 255) {
      throw new MemorydError('invalid_request', 'Idempotency-Key must be 1 to 255 characters');
    }
    // An answer that holds a secret is not written down; a repetition gets it from this process' memory.
    const isSecret = request.routeOptions.config.secretAnswer === true;
    return { name: `key ${place} ${key} ${isSecret ? request.bodyHash : ''}`, byKey: !isSecret, withinMs: retryTtlMs };
  }
  const { replay } = request.routeOptions.config;
  if (!replay) return null;
  const saysSo = Number(request.headers['x-stainless-retry-count']) > 0;
  const mayBe = replay === 'without id' && !hasIds(request.body);
  const withinMs = saysSo ? retryTtlMs : mayBe ? unsaidTtlMs : 0;
  return { name: `body ${place} ${request.bodyHash}`, byKey: false, withinMs };
}

/** Whether the body, or one of its documents, has an id of the caller's. */
function hasIds(body: unknown): boolean {
  const { id, documents = [] } = body as { id?: string; documents?: { id?: string }[] };
  return id !== undefined || documents.some((document) => document.id !== undefined);
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
      if (!isFull && entry.openedAtMs + retryTtlMs > nowMs) return;
      drop(name, entry);
    }
  }

  return {
    find(name: string, withinMs: number): Entry | null {
      const entry = entries.get(name);
      return entry && entry.openedAtMs + withinMs > clock.now().getTime() ? entry : null;
    },
    open(name: string): Entry {
      const { promise, resolve } = Promise.withResolvers<Answer | null>();
      const openedAtMs = clock.now().getTime();
      const entry: Entry = { openedAtMs, answer: promise, bytes: name.length, settle: resolve };
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
  };
}
