import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Caller } from '../account/caller.ts';
import { MemorydError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ApiConfig, ApiServices } from './services.ts';
import type { SpooledBody } from './upload-spool.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes without authentication. */
    caller: Caller | null;
    /** Milliseconds of the clock. */
    receivedAtMs: number;
    /** SHA-256 of the body, on requests whose answer may be replayed. */
    bodyHash: string | null;
    /** The body of a form. */
    upload: SpooledBody | null;
  }
  interface FastifyContextConfig {
    /** No bearer credential is needed. */
    public?: boolean;
    /** The input may hold credentials and is never sent back. */
    sensitive?: boolean;
    /** A repeated request with the same body gets the first answer (6.3). */
    replay?: boolean;
  }
}

export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What every route file gets. */
export interface RouteContext {
  services: ApiServices;
  config: ApiConfig;
  clock: Clock;
  version: string;
}

/** What routes beside those of the API get. */
export interface FurtherContext extends RouteContext {
  log: Logger;
}

/** Who sent the request. Throws on routes without authentication. */
export function callerOf(request: FastifyRequest<any, any, any, any, any, any, any>): Caller {
  if (!request.caller) throw new MemorydError('unauthorized', 'Unauthorized');
  return request.caller;
}
