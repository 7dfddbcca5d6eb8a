import type { OAuth2Spec } from 'memoryd/connector';

/** Google's endpoints: https://developers.google.com/identity/protocols/oauth2/web-server */
const endpoints = {
  authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
  tokenUrl: 'https://oauth2.googleapis.com/token',
  revokeUrl: 'https://oauth2.googleapis.com/revoke',
};

/** OAuth of Google. A refresh token comes only with `access_type`, and only at a consent that is asked for anew. */
export function googleOAuth(
  spec: Pick<OAuth2Spec, 'scopes'> & Partial<Pick<OAuth2Spec, 'scopesFor' | 'identity'>>,
): OAuth2Spec {
  return {
    type: 'oauth2',
    title: 'Log in with Google',
    ...endpoints,
    extraParams: { access_type: 'offline', prompt: 'consent' },
    endedHint:
      'Google ends the access when the user takes it back or changes the password, after six months without use, and ' +
      'after seven days while the publishing status of the app is “Testing”: publish the app under Audience in the ' +
      'Google Cloud console, so that the next authorization lasts.',
    ...spec,
  };
}
