import type { AuthSpec } from 'memoryd/connector';

const secret = { type: 'string', minLength: 1, 'x-secret': true };

/** A token, a GitHub App, or OAuth. Nothing is ever written, so that tokens may be read-only wherever GitHub has that. */
export const authSpecs: AuthSpec[] = [
  {
    type: 'apiKey',
    title: 'Personal access token',
    fields: {
      type: 'object',
      required: ['token'],
      properties: {
        token: {
          ...secret,
          title: 'Token',
          description:
            'Fine-grained, read-only: Contents, Issues, Pull requests, Metadata; for discussions Discussions as well.',
        },
      },
    },
  },
  {
    type: 'githubApp',
    title: 'GitHub App',
    fields: {
      type: 'object',
      required: ['appId', 'privateKey', 'installationId'],
      properties: {
        appId: { type: 'string', title: 'App id' },
        privateKey: { ...secret, title: 'Private key (PEM)' },
        installationId: { type: 'string', pattern: '^[0-9]+$', title: 'Installation id' },
      },
    },
    tokenUrl: '{+baseUrl}/app/installations/{installationId}/access_tokens',
  },
  {
    type: 'oauth2',
    title: 'Log in with GitHub',
    authorizeUrl: '{+webUrl}/login/oauth/authorize',
    tokenUrl: '{+webUrl}/login/oauth/access_token',
    // The least scope of an OAuth app that can read private repositories; a GitHub App’s user tokens have none.
    scopes: ['repo'],
    rotatingRefresh: true,
  },
];
