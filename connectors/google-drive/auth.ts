import type { AuthSpec, Http } from 'memoryd/connector';
import { googleOAuth } from '../google/oauth.ts';

const scopes = ['https://www.googleapis.com/auth/drive.readonly'];

/** https://developers.google.com/workspace/drive/api/reference/rest/v3/about/get */
async function identity(http: Http): Promise<{ id: string; email?: string }> {
  const { json } = await http.get('https://www.googleapis.com/drive/v3/about', {
    query: { fields: 'user(permissionId,emailAddress)' },
  });
  const { permissionId, emailAddress } = json.user;
  return { id: String(permissionId), ...(emailAddress ? { email: String(emailAddress) } : {}) };
}

/** OAuth, or a service account, also in the place of a user of the domain. Nothing is ever written. */
export const authSpecs: AuthSpec[] = [
  googleOAuth({ scopes, identity }),
  {
    type: 'serviceAccount',
    title: 'Service account',
    fields: {
      type: 'object',
      required: ['key'],
      properties: {
        key: { type: 'string', minLength: 1, 'x-secret': true, title: 'Key file (JSON)' },
        subject: {
          type: 'string',
          title: 'User',
          description:
            'Address of the user whose Drive is mirrored, with domain-wide delegation. Without it: what is shared with the service account.',
        },
      },
    },
    tokenUrl: 'https://oauth2.googleapis.com/token',
    scopes,
  },
];
