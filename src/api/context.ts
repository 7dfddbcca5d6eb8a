import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  FastifyReply,
} from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Caller } from '../account/access.ts';
import type { ConsoleSession } from '../account/console-sessions.ts';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ApiConfig, ApiServices } from './services.ts';
import type { OpenHook } from '../inbound/hooks/receiver.ts';
import type { SpooledBody } from './upload-spool.ts';
import type { WrongKeys } from './admission.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without authentication. */
    caller: Caller | null;
    /** Set for a request that came with the console's cookie instead of a key. */
    consoleSession: ConsoleSession | null;
    /** Milliseconds of the clock. */
    receivedAtMs: number;
    /** SHA-256 of the body, on requests whose answer may be replayed. */
    bodyHash: string | null;
    /** The body of a form. */
    upload: SpooledBody | null;
    /** Id of what a request made, for the security log. Null: what its path names. */
    auditTarget: string | null;
    /** The key that came with it is nobody's. */
    isWrongKey: boolean;
    /** The address of a hook, looked up before its body is read. */
    hook: OpenHook | null;
  }
  interface FastifyContextConfig {
    /** No bearer credential is needed. */
    public?: boolean;
    /** Being nobody is one of its answers, and nothing that was denied. */
    asksWho?: boolean;
    /** The input may hold credentials and is never sent back. */
    sensitive?: boolean;
    /** The answer holds a secret, which is stored nowhere as it is. */
    secretAnswer?: boolean;
    /**
     * A repeated request with the same body gets the first answer (6.3). `without id`: also one that does not say that
     * it is repeated, within seconds and unless its documents have ids, which make it harmless.
     */
    replay?: boolean | 'without id';
    /** Noted in the security log under this name, such as `key.create`. */
    audit?: string;
  }
}

export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Passed to every route file. */
export interface RouteContext {
  services: ApiServices;
  config: ApiConfig;
  clock: Clock;
  version: string;
  wrongKeys: WrongKeys;
}

/** Passed to routes beside those of the API. */
export interface FurtherContext extends RouteContext {
  log: Logger;
}

/** The sender of the request. Throws on routes without authentication. */
export function callerOf(request: FastifyRequest<any, any, any, any, any, any, any>): Caller {
  if (!request.caller) throw new MemorydError('unauthorized', 'Unauthorized');
  return request.caller;
}

/** Aborts when the client goes away before it has the answer: work for it is work for nobody. */
export function abortOnDisconnect(reply: FastifyReply<any, any, any, any, any, any, any, any>): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
