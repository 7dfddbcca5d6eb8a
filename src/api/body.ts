import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { MemorydError } from '../base/errors.ts';
import type { Api } from './context.ts';
import { checkBounds, storableJson } from './json-text.ts';
import type { UploadSpool } from './upload-spool.ts';

/**
 * Replaces the parsers: JSON in any `application/*json` type; everything else is refused, but only
 * once it is known to have a body and to be within the limit. An empty body is no body.
 */
export function readBodies(app: Api): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json(?:;|$)/i,
    { parseAs: 'string' },
    (request, body: string, done) => {
      if (body.trim() === '') return done(null, undefined);
      if (wantsHash(request)) request.bodyHash = createHash('sha256').update(body).digest('base64');
      try {
        checkBounds(body);
        done(null, storableJson(parseJson(body), body));
      } catch (error) {
        done(error as Error);
      }
    },
  );
  refuseOtherTypes(app, 'application/json');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    throw new MemorydError('invalid_request', 'The body is not valid JSON', { cause: error });
  }
}

/** For the routes of `app` only: the body is a form, which is received on disk. */
export function readForms(app: Api, spool: UploadSpool): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, stream: IncomingMessage) => {
    request.upload = await spool.receive(stream, request.routeOptions.bodyLimit);
    request.bodyHash = request.upload.hash;
    return {};
  });
  app.addHook('onResponse', async (request) => request.upload?.close());
  refuseOtherTypes(app, 'multipart/form-data');
}

function refuseOtherTypes(app: Api, wanted: string): void {
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    done(new MemorydError('unsupported_media_type', `Send the body as ${wanted}`));
  });
}

/**
 * Refuses a body whose announced length is over the limit before it is read.
 */
export async function refuseLargeBodies(request: FastifyRequest): Promise<void> {
  if (Number(request.headers['content-length']) > request.routeOptions.bodyLimit) throw tooLarge(request);
}

export function tooLarge(request: FastifyRequest): MemorydError {
  const bodyLimit = request.hook?.maxBodyBytes ?? request.routeOptions.bodyLimit;
  return new MemorydError('payload_too_large', `The body is larger than ${bodyLimit} bytes`);
}

/** Section 1 rule 9: these keys were scopes once, and ignoring them would widen what a request does. */
export async function refuseOldScopes(request: FastifyRequest): Promise<void> {
  const removed = oldScopeIn(request.body);
  if (removed) throw new MemorydError('invalid_request', removed);
}

/** The complaint about an old scope field in an object; null when it has none. */
export function oldScopeIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const key = ['userId', 'spaces'].find((name) => Object.hasOwn(value, name));
  return key === undefined ? null : `${key} is not supported; use containerTag (a single string)`;
}

function wantsHash(request: FastifyRequest): boolean {
  return Boolean(request.routeOptions.config.replay) || request.headers['idempotency-key'] !== undefined;
}

/** Section 9 rule 1: these fields may come as text of digits. */
export function readDigits(...names: string[]) {
  return async function convertDigits(request: FastifyRequest): Promise<void> {
    const body = request.body as Record<string, unknown> | null | undefined;
    if (typeof body !== 'object' || body === null) return;
    for (const name of names) {
      const value = body[name];
      if (typeof value === 'string' && /^\d{1,9}$/.test(value)) body[name] = Number(value);
    }
  };
}
