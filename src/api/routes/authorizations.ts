import { createHash } from 'node:crypto';
import Type from 'typebox';
import type { FastifyRequest } from 'fastify';
import { words } from '../schemas/shared.ts';
import { requireManagement } from '../../account/access.ts';
import { MemorydError } from '../../base/errors.ts';
import type { CallbackAnswer, ConsentResult } from '../../connections/consents.ts';
import { isTrustedRedirect, withParameters } from '../../auth/redirects.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import type { ApiConfig } from '../services.ts';
import { connectionParams, providerParams } from '../schemas/connections.ts';

/** Section 19.7 of the API. */

/** Taken as it comes: what is wrong with it is told to a person in a browser. */
const callbackQuery = Type.Object({
  code: Type.Optional(Type.Unknown({ description: 'From the source.' })),
  state: Type.Optional(Type.Unknown({ description: 'The state of the consent link.' })),
  error: Type.Optional(Type.Unknown({ description: 'In place of a code.' })),
});

const page = { 'text/html': { schema: Type.String() } };

const callbackAnswers = {
  200: {
    description: 'Connected, and no redirectUrl was given. As JSON when only that is accepted.',
    content: {
      ...page,
      'application/json': {
        schema: Type.Object({ connectionId: Type.String(), provider: Type.String(), status: words(['connected']) }),
      },
    },
  },
  302: {
    description:
      'To the redirectUrl, with connectionId, provider and status=connected, or with provider and error: access_denied, invalid_state or exchange_failed.',
    type: 'null' as const,
  },
  400: {
    description: 'Not connected, and there is nowhere to send the browser.',
    content: {
      ...page,
      'application/json': { schema: Type.Object({ error: Type.String(), details: Type.String() }) },
    },
  },
};

const authorizationAnswer = Type.Object({
  connectionId: Type.String(),
  status: words(['pending', 'connected', 'access_denied', 'exchange_failed', 'expired'], {
    description: 'The state of the newest consent link for this connection.',
  }),
});

const tags = ['Connections'];

/** Section 19.7 of the API: where sources send the browser back to, and how an authorization stands. */
export function authorizationRoutes(app: Api, { services, config }: RouteContext): void {
  const paths = {
    '/v3/connections/auth/callback/:provider': 'completeAuthorization',
    '/v3/connections/:provider/callback': 'completeAuthorizationAlias',
  };
  for (const [path, operationId] of Object.entries(paths)) {
    app.get(
      path,
      {
        // A HEAD request (a preview of the link) must not use the state up.
        exposeHeadRoute: false,
        config: { public: true, sensitive: true, audit: 'connection.authorize' },
        schema: {
          operationId,
          summary: 'Complete an authorization',
          description:
            'Sources send browsers here after the user’s consent. The single-use state authorizes the request.',
          tags,
          security: [],
          params: providerParams,
          querystring: callbackQuery,
          response: callbackAnswers,
        },
      },
      async (request, reply) => {
        const { provider } = request.params;
        const result = await services.consents.complete(provider, readAnswer(request.query));
        const { status, headers, text } = wantsJson(request)
          ? programAnswer(provider, result)
          : browserAnswer(provider, result, config);
        void reply.headers({ ...pageHeaders, ...headers }).serializer(String);
        return reply.code(status).send(text);
      },
    );
  }

  app.get(
    '/v3/connections/:connectionId/authorization',
    {
      schema: {
        operationId: 'getAuthorization',
        summary: 'How the consent to a connection stands',
        description: 'Also before there is a connection. Links are remembered for a day.',
        tags,
        params: connectionParams,
        response: { 200: authorizationAnswer },
      },
    },
    async (request) => {
      requireManagement(callerOf(request));
      const { connectionId } = request.params;
      const status = await services.consents.state(connectionId);
      if (!status) throw new MemorydError('not_found', 'Authorization not found');
      return { connectionId, status };
    },
  );
}

/** Longer than any code or state that sources make. */
const longestParameter = 4_096;

/** RFC 6749 section 3.1: a parameter that comes twice is no parameter. */
function readAnswer(query: { code?: unknown; state?: unknown; error?: unknown }): CallbackAnswer {
  const text = (value: unknown) =>
    typeof value === 'string' && value !== '' && value.length <= longestParameter ? value : undefined;
  return { code: text(query.code), state: text(query.state), error: text(query.error) };
}

function wantsJson({ headers }: FastifyRequest<any, any, any, any, any, any, any>): boolean {
  const accept = headers.accept ?? '';
  return accept.includes('application/json') && !accept.includes('text/html');
}

interface Answer {
  status: 200 | 302 | 400;
  headers: Record<string, string>;
  text: string;
}

function browserAnswer(provider: string, result: ConsentResult, config: ApiConfig): Answer {
  const { outcome, redirectUrl } = result;
  const connected = outcome === 'connected';
  if (redirectUrl !== null) {
    const facts: Record<string, string> = connected
      ? { connectionId: result.connectionId, provider, status: 'connected' }
      : { provider, error: outcome };
    const location = withParameters(redirectUrl, facts);
    const { redirectAllowlist: allowlist = [], publicUrl } = config;
    if (isTrustedRedirect(redirectUrl, { allowlist, publicUrl }))
      return { status: 302, headers: { location }, text: '' };
    return { ...pageOf(provider, result), text: authorizationPage({ ...wordsOf(provider, result), link: location }) };
  }
  return pageOf(provider, result);
}

function pageOf(provider: string, result: ConsentResult): Answer {
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  const status = result.outcome === 'connected' ? 200 : 400;
  const ends = result.outcome === 'connected' || result.outcome === 'access_denied';
  return { status, headers, text: authorizationPage({ ...wordsOf(provider, result), ends }) };
}

function wordsOf(provider: string, result: ConsentResult): { title: string; text: string } {
  if (result.outcome !== 'connected') return { title: 'Not connected', text: result.reason };
  return {
    title: 'Connected',
    text: `${provider} is connected, and the first sync begins. You can close this window.`,
  };
}

/** For programs that were given the answer by hand, such as `memoryd connect --paste`. */
function programAnswer(provider: string, result: ConsentResult): Answer {
  const body =
    result.outcome === 'connected'
      ? { connectionId: result.connectionId, provider, status: 'connected' }
      : { error: result.outcome, details: result.reason };
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { status: result.outcome === 'connected' ? 200 : 400, headers, text: JSON.stringify(body) };
}

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}h1{font-size:1.4rem}';

/** Browsers let only a window end that a page has opened, such as that of the console; others stay. */
const ending = 'close()';

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Headers of the page: it loads nothing, is shown in no frame, and tells nobody the address with the code in it. */
const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(ending)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface AuthorizationPage {
  title: string;
  text: string;
  /** To go on by; its host is shown. */
  link?: string;
  /** Nothing is left to read: whoever opened a window for it says the rest. */
  ends?: boolean;
}

/** The page shown at the end of an authorization. */
export function authorizationPage({ title, text, link, ends = false }: AuthorizationPage): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<title>${escaped(title)}</title>`,
    `<style>${style}</style>`,
    `<h1>${escaped(title)}</h1>`,
    `<p>${escaped(text)}</p>`,
    ...(link === undefined
      ? []
      : [`<p><a rel="noreferrer" href="${escaped(link)}">Continue to ${escaped(new URL(link).host)}</a></p>`]),
    ...(ends ? [`<script>${ending}</script>`] : []),
    '</html>',
    '',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
