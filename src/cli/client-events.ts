import { openStream, type Endpoint } from './client-request.ts';
import { CommandFailure, exitCodes } from './exit.ts';

export interface ReceivedEvent<Data> {
  event: string;
  id: string | null;
  data: Data;
}

/** A daemon that is there says something at least every 15 seconds. */
const silenceMs = 45_000;

/**
 * The server-sent events of one answer, until it ends. Throws `CommandFailure`, `noDaemon` when the
 * connection breaks in the middle. `lastEventId` goes on after an event of an answer before.
 */
export async function* readEvents<Data>(
  endpoint: Endpoint,
  path: string,
  lastEventId: string | null,
): AsyncGenerator<ReceivedEvent<Data>> {
  const body = await openStream(endpoint, path, {
    accept: 'text/event-stream',
    ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
  });
  if (!body) return;
  let text = '';
  for await (const part of readText(endpoint, body)) {
    const blocks = (text + part).replaceAll('\r\n', '\n').split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const received = parseEvent<Data>(block);
      if (received) yield received;
    }
  }
}

async function* readText(endpoint: Endpoint, body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await unlessSilent(reader.read());
      if (done) return;
      yield value;
    }
  } catch (error) {
    if (endpoint.signal.aborted) throw new CommandFailure(exitCodes.interrupted, 'Interrupted.', { cause: error });
    throw new CommandFailure(exitCodes.noDaemon, `The connection to the daemon at ${endpoint.url} broke.`, {
      remedy: endpoint.unreachable,
      cause: error,
    });
  } finally {
    reader.cancel().catch(() => {});
  }
}

function unlessSilent<Value>(answer: Promise<Value>): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`nothing came for ${silenceMs / 1000} s`)), silenceMs);
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
}

/** Null for what carries no data: comments, and the time to wait. */
function parseEvent<Data>(block: string): ReceivedEvent<Data> | null {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name, value] = /^([a-z]+):? ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, value ?? '');
  }
  const data = fields.get('data');
  if (data === undefined) return null;
  return { event: fields.get('event') ?? 'message', id: fields.get('id') ?? null, data: JSON.parse(data) as Data };
}
