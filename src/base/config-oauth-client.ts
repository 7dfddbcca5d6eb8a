import Type from 'typebox';

/** Settings of an OAuth client that serves one or two connectors. `alias` begins its further environment names. */
export function oauthClient(source: string, alias: string, more = '') {
  const field = (description: string, name: string, secret: boolean) =>
    Type.Optional(
      Type.String({
        description: [description, more].filter(Boolean).join(' '),
        absent: 'authorizations use the client of oauthClients or of the settings',
        minLength: 1,
        secret,
        aliases: [`${alias}_${name}`],
      }),
    );
  return Type.Object({
    clientId: field(`Id of the OAuth client that is registered at ${source}.`, 'CLIENT_ID', false),
    clientSecret: field(`Secret of the OAuth client that is registered at ${source}.`, 'CLIENT_SECRET', true),
  });
}
