import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { vi } from 'vitest';
import {
  authExpired,
  defineConnector,
  type Connector,
  type ConnectorSpec,
  type OAuth2Spec,
} from '../../src/connector/contract.ts';
import { publicUrl } from './api.ts';

export const client = { clientId: 'memoryd-test', clientSecret: 'client-secret-of-memoryd-test' };

/** One that keeps no secret, such as a program on the user's own machine. */
export const publicClient = { clientId: 'memoryd-test-public' };

export interface AuthorizationServerOptions {
  provider?: string;
  /** Refresh tokens are replaced at each use, and using one twice ends the grant. Default true. */
  rotates?: boolean;
  /** Answers of the token endpoint leave the refresh token out. */
  omitsRefreshToken?: boolean;
}

export type AuthorizationServer = Awaited<ReturnType<typeof startAuthorizationServer>>;

/** A real OAuth server (oidc-provider) whose users say yes by themselves, and an API that its tokens open. */
export async function startAuthorizationServer(options: AuthorizationServerOptions = {}) {
  const { provider: name = 'shelf', rotates = true, omitsRefreshToken = false } = options;
  const state = {
    /** Who is logged in. */
    account: 'mira',
    /** What the user answers. */
    consents: true,
    /** Takes a request to the token endpoint over, instead of the server. */
    interceptToken: null as ((response: ServerResponse) => void) | null,
    /** `authorization_code`, `refresh_token`, `revocation`, and these with `failed `, as the server saw them. */
    grants: [] as string[],
    /** Requests to the token endpoint wait for it. */
    hold: Promise.resolve(),
    held: 0,
    /** Called when a token has been issued; it is not sent before the answer. */
    onGrant: (): unknown => undefined,
    /** Access tokens that the API no longer takes. */
    ended: new Set<string>(),
    /** Tokens that were sent to the API. */
    seen: [] as string[],
    items: new Map([['first', 'text of the first']]),
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = quietly(() => new Provider(url, configuration(name, rotates)));
  if (omitsRefreshToken) {
    provider.use(async (context, next) => {
      await next();
      if (context.oidc?.params?.['grant_type'] === 'refresh_token')
        delete (context.body as Record<string, unknown>)['refresh_token'];
    });
  }
  let granted: unknown;
  provider.use(async (_context, next) => {
    await next();
    await granted;
  });
  const callback = provider.callback();
  const grantOf = (context: { oidc?: { params?: Record<string, unknown> | undefined } }) =>
    String(context.oidc?.params?.['grant_type']);
  provider.on('grant.success', (context) => {
    state.grants.push(grantOf(context));
    granted = state.onGrant();
  });
  provider.on('grant.error', (context) => void state.grants.push(`failed ${grantOf(context)}`));
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    if (path.startsWith('/api/')) return answerApi(request, response, path);
    if (path.startsWith('/interaction/')) return interact(request, response);
    if (path === '/token/revocation') state.grants.push('revocation');
    if (path !== '/token') return void callback(request, response);
    if (state.interceptToken) {
      request.resume();
      return state.interceptToken(response);
    }
    state.held += 1;
    await state.hold;
    void callback(request, response);
  }

  async function answerApi(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    state.seen.push(token);
    const found = token === '' || state.ended.has(token) ? undefined : await provider.AccessToken.find(token);
    if (!found) return json(response, 401, { error: 'token not accepted' });
    if (path === '/api/me')
      return json(response, 200, { id: found.accountId, email: `${found.accountId}@example.com` });
    if (path === '/api/items') return json(response, 200, [...state.items.keys()]);
    const text = state.items.get(path.slice('/api/items/'.length));
    json(response, text === undefined ? 404 : 200, { text });
  }

  /** The user logs in and answers, without pages. */
  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: state.account } });
    }
    if (!state.consents) {
      return provider.interactionFinished(request, response, { error: 'access_denied' });
    }
    const grant = grantId
      ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId: session!.accountId, clientId: String(params['client_id']) });
    grant!.addOIDCScope('openid offline_access items');
    return provider.interactionFinished(request, response, { consent: { grantId: await grant!.save() } });
  }

  return Object.assign(state, {
    url,
    provider,
    auth(more: Partial<OAuth2Spec> = {}): OAuth2Spec {
      return {
        type: 'oauth2',
        authorizeUrl: `${url}/auth`,
        tokenUrl: `${url}/token`,
        revokeUrl: `${url}/token/revocation`,
        scopes: ['openid', 'offline_access', 'items'],
        extraParams: { prompt: 'consent' },
        async identity(http) {
          const { json } = await http.get<{ id: string; email: string }>(`${url}/api/me`);
          return json;
        },
        ...more,
      };
    },
    /** What the browser of a user does with a consent link: it ends at the callback, whose address this is. */
    consent: (link: string) => followToCallback(link, url),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

function configuration(name: string, rotates: boolean): Configuration {
  return {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [`${publicUrl}/v3/connections/auth/callback/${name}`],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
      {
        client_id: publicClient.clientId,
        redirect_uris: [`${publicUrl}/v3/connections/auth/callback/${name}`],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
      },
    ],
    scopes: ['openid', 'offline_access', 'items'],
    pkce: { required: () => true },
    rotateRefreshToken: rotates,
    issueRefreshToken: () => true,
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    cookies: { keys: ['only for tests'] },
    ttl: { AccessToken: 3_600, RefreshToken: 86_400, Grant: 86_400, Interaction: 600, Session: 600 },
  };
}

/** It warns of its development keys and of plain HTTP, which is what a test wants. */
function quietly<Value>(make: () => Value): Value {
  const spies = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'info')].map((spy) => spy.mockImplementation(() => {}));
  try {
    return make();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function followToCallback(link: string, origin: string): Promise<URL> {
  const cookies = new Map<string, string>();
  for (let address = new URL(link); ;) {
    if (address.origin !== origin) return address;
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';');
      const at = pair.indexOf('=');
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${address.pathname} answered ${response.status}: ${await response.text()}`);
    address = new URL(location, address);
  }
}

/** A connector to the API of the server, which sends its requests itself and renews on 401 as `ctx.http` does. */
export function createShelf(server: AuthorizationServer, more: Partial<ConnectorSpec> = {}): Connector<any, any> {
  async function get(token: (refused?: string) => Promise<string>, path: string): Promise<any> {
    const first = await token();
    let response = await request(first, path);
    if (response.status === 401) response = await request(await token(first), path);
    if (response.status === 401) throw authExpired(`the shelf does not take the token ${first}`);
    return response.json();
  }
  const request = (token: string, path: string) =>
    fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return defineConnector<any, any>({
    spec: {
      name: 'shelf',
      version: '1.0.0',
      title: 'Shelf',
      kind: 'other',
      description: 'Items behind an authorization.',
      config: { type: 'object', properties: {}, additionalProperties: false },
      auth: [server.auth()],
      origins: [server.url],
      ...more,
    },
    check: async () => [],
    partitions: async () => [{ id: 'all' }],
    async list(ctx) {
      const ids = (await get(ctx.token, '/api/items')) as string[];
      return { refs: ids.map((id) => ({ id, rev: id })), done: true };
    },
    fetch: async (ctx, _, ref) => ({ text: (await get(ctx.token, `/api/items/${ref.id}`)).text }),
  });
}
