import Type from 'typebox';
import type { FastifyRequest } from 'fastify';
import { timestamp } from '../schemas/shared.ts';
import { sessionAnswer } from '../schemas/keys.ts';
import type { ConsoleSession, Credential } from '../../account/console-sessions.ts';
import { MemorydError } from '../../base/errors.ts';
import { wrongKey } from '../admission.ts';
import { createSessionCookie, isSecure, refuseOtherOrigins } from '../console-cookie.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import type { ApiConfig } from '../services.ts';
import { invalidField } from '../validation.ts';
import { sessionView } from './session.ts';

/** A key, or the token of a link. */
const signInBody = Type.Object({
  key: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description: 'An API key.' })),
  link: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'The token of a link, used up by it.' }),
  ),
});

const consoleSessionAnswer = Type.Object({
  csrf: Type.String({ description: 'To be sent as x-csrf-token with every request that is not GET or HEAD.' }),
  expiresAt: timestamp,
  session: sessionAnswer,
});

const consoleLinkAnswer = Type.Object({
  url: Type.String({ format: 'uri', description: 'Opens the console, once.' }),
  expiresAt: timestamp,
});

const tags = ['Console'];
const ofCookie = [{ session: [] }];
/** Answers that open the console must not be stored by proxies or browsers. */
const unstored = { 'cache-control': 'no-store' };

/** Signing in to the console with a key or a one-time link, which gives a cookie. */
export function consoleSessionRoutes(app: Api, context: RouteContext): void {
  signInRoute(app, context);
  currentRoutes(app, context);
  signOutRoutes(app, context);
  linkRoute(app, context);
}

function signInRoute(app: Api, { services, config, clock, wrongKeys }: RouteContext): void {
  const cookie = createSessionCookie(config.organization);
  app.post(
    '/console/session',
    {
      config: { public: true, sensitive: true, audit: 'console.sign-in' },
      schema: {
        operationId: 'signIn',
        summary: 'Sign in to the console',
        description:
          'With an API key or the token of a link. Sets a cookie for 12 hours, or until the key expires. What the session may do is what its key may do at that moment.',
        tags,
        security: [],
        body: signInBody,
        response: { 200: consoleSessionAnswer },
      },
    },
    async (request, reply) => {
      refuseOtherOrigins(request, config.publicUrl);
      const signedIn = await services.consoleSessions.signIn(credentialOf(request.body));
      if (!signedIn) throw wrongKey(wrongKeys.note(request.ip), 'Invalid API key or link');
      request.caller = signedIn.caller;
      const { secret, expiresAt } = signedIn;
      const seconds = Math.ceil((expiresAt.getTime() - clock.now().getTime()) / 1000);
      cookie.set(request, reply, { secret, seconds });
      reply.headers(unstored);
      return sessionAnswerOf(signedIn, config);
    },
  );
}

function credentialOf({ key, link }: { key?: string; link?: string }): Credential {
  if (key !== undefined && link === undefined) return { key };
  if (link !== undefined && key === undefined) return { link };
  throw invalidField(['key'], 'Either key or link is required');
}

function sessionAnswerOf({ caller, csrf, expiresAt }: ConsoleSession, { organization }: ApiConfig) {
  return { csrf, expiresAt, session: sessionView(caller, organization) };
}

function currentRoutes(app: Api, { config }: RouteContext): void {
  app.get(
    '/console/session',
    {
      config: { asksWho: true },
      schema: {
        operationId: 'getConsoleSession',
        summary: 'The session of the console',
        description: '401 when nobody is.',
        tags,
        security: ofCookie,
        response: { 200: consoleSessionAnswer },
      },
    },
    async (request, reply) => {
      reply.headers(unstored);
      return sessionAnswerOf(signedInAs(request), config);
    },
  );
}

function signOutRoutes(app: Api, { services, config }: RouteContext): void {
  const cookie = createSessionCookie(config.organization);
  const ended = Type.Unsafe<undefined>({ type: 'null', description: 'The session has ended.' });

  app.delete(
    '/console/session',
    {
      config: { audit: 'console.sign-out' },
      schema: {
        operationId: 'signOut',
        summary: 'Sign out of the console',
        tags,
        security: ofCookie,
        response: { 204: ended },
      },
    },
    async (request, reply) => {
      signedInAs(request);
      await services.consoleSessions.signOut(cookie.read(request)!);
      cookie.remove(request, reply);
      return reply.code(204).send(undefined);
    },
  );

  app.delete(
    '/console/sessions',
    {
      config: { audit: 'console.sign-out-everywhere' },
      schema: {
        operationId: 'signOutEverywhere',
        summary: 'Sign out of the console everywhere',
        description:
          'Ends this session and all others of the same key, and its links that were not used yet; of whoever signed in on the machine of the daemon, all that did.',
        tags,
        security: ofCookie,
        response: { 204: ended },
      },
    },
    async (request, reply) => {
      await services.consoleSessions.signOutEverywhere(signedInAs(request).caller);
      cookie.remove(request, reply);
      return reply.code(204).send(undefined);
    },
  );
}

/** Throws `unauthorized` for a request with a key instead of the cookie. */
function signedInAs({ consoleSession }: FastifyRequest<any, any, any, any, any, any, any>): ConsoleSession {
  if (!consoleSession) throw new MemorydError('unauthorized', 'Nobody is signed in');
  return consoleSession;
}

function linkRoute(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/console/links',
    {
      config: { sensitive: true, secretAnswer: true, audit: 'console.link' },
      schema: {
        operationId: 'createConsoleLink',
        summary: 'Make a link that signs in to the console',
        description:
          'It works once, for five minutes, and gives what the key of this request may do. A session of the console makes none: it would never end.',
        tags,
        response: { 200: consoleLinkAnswer },
      },
    },
    async (request, reply) => {
      if (request.consoleSession) throw new MemorydError('forbidden', 'This operation needs a key');
      const { url, expiresAt } = await services.consoleSessions.createLink(
        callerOf(request),
        addressOf(request, config),
      );
      reply.headers(unstored);
      return { url, expiresAt };
    },
  );
}

/** Where whoever asks has reached the daemon; with its path when that is the public address. */
function addressOf(request: FastifyRequest<any, any, any, any, any, any, any>, { publicUrl }: ApiConfig): string {
  const { host } = request;
  if (publicUrl !== undefined && new URL(publicUrl).host === host) return publicUrl;
  return `http${isSecure(request) ? 's' : ''}://${host}`;
}
