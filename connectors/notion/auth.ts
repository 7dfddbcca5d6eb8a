import type { AuthSpec, Http } from 'memoryd/connector';
import { apiOrigin, apiVersion } from './client.ts';

/** An internal integration’s token, or a public one’s consent. Both only ever read. */
export const authSpecs: AuthSpec[] = [
  {
    type: 'apiKey',
    title: 'Internal integration',
    fields: {
      type: 'object',
      required: ['token'],
      properties: {
        token: {
          type: 'string',
          minLength: 1,
          'x-secret': true,
          title: 'Integration token',
          description: 'Begins with `ntn_`. Share the pages with the integration, else it sees nothing.',
        },
      },
    },
  },
  {
    type: 'oauth2',
    title: 'Log in with Notion',
    authorizeUrl: `${apiOrigin}/v1/oauth/authorize`,
    tokenUrl: `${apiOrigin}/v1/oauth/token`,
    scopes: [],
    pkce: false,
    rotatingRefresh: true,
    clientAuthentication: 'header',
    // https://developers.notion.com/docs/authorization
    extraParams: { owner: 'user' },
    identity: identityOf,
  },
];

interface ShownBot {
  id: string;
  bot?: { owner?: { user?: { person?: { email?: string } } }; workspace_id?: string };
}

async function identityOf(http: Http): Promise<{ id: string; email?: string }> {
  const headers = { 'notion-version': apiVersion };
  const { json } = await http.get<ShownBot>(`${apiOrigin}/v1/users/me`, { headers });
  const email = json.bot?.owner?.user?.person?.email;
  return { id: json.bot?.workspace_id ?? json.id, ...(email === undefined ? {} : { email }) };
}
