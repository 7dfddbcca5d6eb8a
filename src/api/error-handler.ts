import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { MemorydError, type ErrorCode, type ValidationIssue } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { tooLarge } from './body.ts';

/** The input is sent back with validation errors up to this size. */
const maxEchoBytes = 8 * 1024;

/** Bytes that are read and discarded of a body that was refused for its size. */
const maxDiscardedBytes = 16 * 1024 * 1024;

/** Answers of status 500 and above that nobody has to look into. */
const expectedFailures: ErrorCode[] = ['unsupported_operation', 'unavailable'];

type ErrorBody =
  { error: string; details?: string | undefined } | { success: false; error: ValidationIssue[]; data?: unknown };

/** Makes the two error bodies of section 3 of the API from everything that is thrown. */
export function handleErrorsWith(log: Logger) {
  return function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = known(thrown, request);
    const isExpected = expectedFailures.includes(error.code) || reply.raw.destroyed;
    if (error.status >= 500 && !isExpected) logFailure(log, request, error, thrown);
    setRetryHeaders(error, reply);
    if (error.status === 413) discardRest(request.raw);
    const text = JSON.stringify(bodyOf(error, request));
    return reply.code(error.status).type('application/json; charset=utf-8').send(text);
  };
}

/**
 * The answer goes out at once. What is still on its way is thrown away, so that the client sees the answer
 * and may go on with the connection; one that sends much more loses it.
 */
function discardRest(body: IncomingMessage): void {
  let left = maxDiscardedBytes;
  body.on('data', (part: Buffer) => {
    left -= part.length;
    if (left < 0) body.destroy();
  });
}

function bodyOf(error: MemorydError, request: FastifyRequest): ErrorBody {
  if (error.code === 'validation_failed' && error.issues) {
    const data = echoOf(error, request);
    const issues = error.issues.map((issue) => ({ ...issue, message: printable(issue.message) }));
    return { success: false, error: issues, data };
  }
  if (error.status === 500) return { error: 'Internal server error' };
  return { error: printable(error.message), details: error.details };
}

/** A message may name what was sent, and is shown in terminals: control characters and reversals in it are no text. */
function printable(message: string): string {
  return message.replace(/[\p{Cc}\u202a-\u202e\u2028\u2029\u2066-\u2069]/gu, '\ufffd');
}

/** The input that failed, unless it is large or may hold credentials. */
function echoOf(error: MemorydError, request: FastifyRequest): unknown {
  if (request.routeOptions.config.sensitive) return undefined;
  const part = (error as { validationContext?: 'body' | 'params' | 'querystring' }).validationContext;
  const data = part === 'params' ? request.params : part === 'querystring' ? request.query : request.body;
  const text = JSON.stringify(data);
  return text === undefined || Buffer.byteLength(text) > maxEchoBytes ? undefined : data;
}

function setRetryHeaders(error: MemorydError, reply: FastifyReply): void {
  const retryAfterMs = error.retryAfterMs ?? (error.status === 503 ? 5_000 : undefined);
  if (retryAfterMs !== undefined) {
    reply.header('retry-after', Math.ceil(retryAfterMs / 1000));
    reply.header('retry-after-ms', Math.ceil(retryAfterMs));
  }
  const shouldRetry = error.status === 501 ? false : error.shouldRetry;
  if (shouldRetry !== undefined) reply.header('x-should-retry', String(shouldRetry));
  // An over-long body is read to its end and thrown away: a client that still sends gets the answer.
  if (error.status === 413) reply.removeHeader('connection');
}

const errorsOfFramework: Record<string, { code: ErrorCode; message: string }> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 'unsupported_media_type', message: 'Send the body as application/json' },
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'invalid_request', message: 'The body is not valid JSON' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: { code: 'invalid_request', message: 'The body ended before its length' },
  FST_ERR_HANDLER_TIMEOUT: { code: 'unavailable', message: 'This takes too long at the moment; try again later' },
  FST_ERR_BAD_URL: { code: 'invalid_request', message: 'The path is not valid percent-encoding' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'invalid_request', message: 'A part of the path is too long' },
};

function known(thrown: unknown, request: FastifyRequest): MemorydError {
  if (MemorydError.is(thrown)) return thrown;
  const { code, statusCode } = (thrown ?? {}) as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge(request);
  const mapped = errorsOfFramework[code ?? ''];
  if (mapped) return new MemorydError(mapped.code, mapped.message);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new MemorydError('invalid_request', 'The request could not be read', { cause: thrown });
  }
  return new MemorydError('internal', 'Internal server error', { cause: thrown });
}

function logFailure(log: Logger, request: FastifyRequest, error: MemorydError, thrown: unknown): void {
  const fields = {
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url,
    code: error.code,
    err: MemorydError.is(thrown) ? (thrown.cause ?? thrown) : thrown,
  };
  if (error.code === 'internal') log.error(fields, 'request failed');
  else log.warn(fields, 'request failed');
}
