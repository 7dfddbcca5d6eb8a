import Type from 'typebox';

/** Settings of who reaches the daemon, from where, and what may be read through it. */
export const protection = {
  tls: Type.Object({
    certFile: Type.Optional(
      Type.String({
        description: 'File with the certificate, and those of its issuers, as PEM. With keyFile: the API speaks https.',
        absent: 'plain http',
        minLength: 1,
        path: true,
      }),
    ),
    keyFile: Type.Optional(
      Type.String({
        description: 'File with the private key of the certificate, as PEM.',
        absent: 'plain http',
        minLength: 1,
        path: true,
      }),
    ),
  }),
  allowedHosts: Type.Array(Type.String({ pattern: '^(\\*\\.)?[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$' }), {
    description:
      'Names by which requests may reach the daemon, beside addresses, names without dots and that of publicUrl. Requests for any other name are refused, so that web pages cannot pass theirs off as this machine.',
    default: [],
    expected: 'names such as memory.example.com or *.example.com',
  }),
  corsOrigins: Type.Array(Type.String({ pattern: '^(\\*|https?://[^/]+)$' }), {
    description: 'Origins of web pages that may call the API from a browser.',
    default: [],
    expected: 'origins such as https://app.example.com, or *',
    aliases: ['CORS_ORIGINS'],
  }),
  folderRoots: Type.Array(Type.String({ minLength: 1 }), {
    description:
      'Folders of this machine that may be connected through the API, with what lies below them. Empty: none. Commands on the machine itself may connect whatever the daemon’s user can read.',
    default: [],
    expected: 'folders such as /srv/notes',
  }),
};
