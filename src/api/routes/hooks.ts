import type { IncomingMessage } from 'node:http';
import Type from 'typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MemorydError } from '../../base/errors.ts';
import type { RawHook } from '../../connector/contract.ts';
import { tooLarge } from '../body.ts';
import type { Api, RouteContext } from '../request.ts';

const sharedHookParams = Type.Object({
  provider: Type.String({ description: 'Name of a connector.', minLength: 1, maxLength: 64 }),
});

const hookParams = Type.Object({
  ...sharedHookParams.properties,
  connectionId: Type.String({ description: 'Id of a connection.', minLength: 1, maxLength: 255 }),
});

/** Sources send what they like; the connector reads it. */
const hookAnswers = {
  200: {
    description: 'The answer to a handshake that the source expects.',
    content: {
      'text/plain': { schema: Type.String() },
      'application/json': { schema: Type.Unsafe<unknown>({}) },
    },
  },
  202: {
    description: 'Taken. What it says is looked at soon.',
    content: { 'application/json': { schema: Type.Object({ received: Type.Boolean() }) } },
  },
  401: {
    description: 'The signature of the source is not valid.',
    content: { 'application/json': { schema: Type.Ref('ErrorResponse#') } },
  },
};

/** More than that is announced by nobody; each connector says less. */
const maxBodyBytes = 4 * 1024 * 1024;
/** Limit for all bodies together that are under way and not yet checked. */
const maxHeldBytes = 32 * 1024 * 1024;

/** The short path that sources are told, and the one of the published interface. */
const paths = [
  { prefix: '/v3/hooks', name: 'Hook' },
  { prefix: '/v3/webhooks', name: 'Webhook' },
];

const description =
  'What a source sends when something changed there. No API key: the connector checks the signature of the source. A hook only says that it is worth looking; what changed is read from the source.';

/** In a scope of its own, because here the body is taken as it is, byte by byte. */
export function hookRoutes(app: Api, { services }: RouteContext): void {
  readBytes(app);
  app.addHook('onRequest', async (request) => {
    const { provider, connectionId = null } = request.params as { provider: string; connectionId?: string };
    request.hook = await services.hooks.open({ provider, connectionId });
    if (Number(request.headers['content-length']) > request.hook.maxBodyBytes) throw tooLarge(request);
  });

  async function answer(request: FastifyRequest, reply: FastifyReply) {
    const { status, headers, body } = await request.hook!.receive(rawHook(request));
    return reply.code(status).headers(headers).serializer(String).send(body);
  }

  const offered = paths.flatMap((path) => (['POST', 'GET'] as const).map((method) => ({ ...path, method })));
  for (const { prefix, name, method } of offered) {
    const of = method === 'POST' ? 'receive' : 'verify';
    app.route({
      method,
      url: `${prefix}/:provider/:connectionId`,
      bodyLimit: maxBodyBytes,
      config: { public: true, sensitive: true },
      schema: {
        operationId: `${of}Connection${name}`,
        summary: method === 'POST' ? 'Receive a hook of a connection' : 'Answer the handshake of a connection’s hook',
        description,
        tags: ['Hooks'],
        security: [],
        params: hookParams,
        response: hookAnswers,
      },
      handler: answer,
    });
    app.route({
      method,
      url: `${prefix}/:provider`,
      bodyLimit: maxBodyBytes,
      config: { public: true, sensitive: true },
      schema: {
        operationId: `${of}Provider${name}`,
        summary: method === 'POST' ? 'Receive a hook of a provider' : 'Answer the handshake of a provider’s hook',
        description: `${description} One hook for all connections of the provider, which names them by their account.`,
        tags: ['Hooks'],
        security: [],
        params: sharedHookParams,
        response: hookAnswers,
      },
      handler: answer,
    });
  }
}

function readBytes(app: Api): void {
  const held = createHeldBytes(maxHeldBytes);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, stream: IncomingMessage) => read(request, stream, held));
}

/** Throws `payload_too_large`, and `unavailable` when too many large ones come at once. */
function read(request: FastifyRequest, stream: IncomingMessage, held: HeldBytes): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    const end = (settle: () => void) => {
      body.release();
      stream.off('data', take);
      parts.length = 0;
      settle();
    };
    const body = held.open(() => end(() => reject(tooMany())));
    const take = (part: Buffer) => {
      length += part.length;
      if (length > request.hook!.maxBodyBytes) return end(() => reject(tooLarge(request)));
      parts.push(part);
      body.add(part.length);
    };
    stream.on('data', take);
    stream.on('end', () => {
      const whole = Buffer.concat(parts);
      end(() => resolve(whole));
    });
    stream.on('error', (error) => end(() => reject(error)));
    stream.on('close', () => end(() => reject(new MemorydError('invalid_request', 'The hook was not sent whole'))));
  });
}

function tooMany(): MemorydError {
  return new MemorydError('unavailable', 'Too many hooks are on their way; send it again', { retryAfterMs: 5_000 });
}

function rawHook(request: FastifyRequest): RawHook {
  const { body } = request;
  const [path = '', search = ''] = request.url.split('?', 2);
  return {
    method: request.method,
    path,
    query: Object.fromEntries(new URLSearchParams(search)),
    headers: Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    ),
    body: body instanceof Uint8Array ? body : new Uint8Array(),
  };
}

/** One body on its way. */
interface HeldBody {
  /** Counts what has arrived of it. */
  add(bytes: number): void;
  /** It is gone, worked on or refused. Harmless a second time. */
  release(): void;
}

/** Bounds the memory that all bodies take together before anybody knows who sends them. */
interface HeldBytes {
  /** `refuse` is called when there is no room any more and this body is the largest. */
  open(refuse: () => void): HeldBody;
}

export function createHeldBytes(maxBytes: number): HeldBytes {
  const sizes = new Map<() => void, number>();
  let total = 0;

  function drop(refuse: () => void): void {
    total -= sizes.get(refuse) ?? 0;
    sizes.delete(refuse);
  }

  /** The largest goes: many that are large must not push out those that are as hooks are. */
  function makeRoom(): void {
    while (total > maxBytes) {
      const [largest] = [...sizes].reduce((left, right) => (right[1] > left[1] ? right : left));
      drop(largest);
      largest();
    }
  }

  return {
    open(refuse) {
      sizes.set(refuse, 0);
      return {
        add(bytes) {
          const size = sizes.get(refuse);
          if (size === undefined) return;
          sizes.set(refuse, size + bytes);
          total += bytes;
          makeRoom();
        },
        release: () => drop(refuse),
      };
    },
  };
}
