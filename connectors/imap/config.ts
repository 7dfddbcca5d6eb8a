import type { JsonSchema } from 'memoryd/connector';

/** Settings of a connection of this connector. Absent fields have the defaults of `configSchema`. */
export interface ImapConfig {
  host: string;
  user: string;
  port?: number;
  secure?: boolean;
  startTls?: boolean;
  mailboxes?: string;
  specialUse?: boolean;
  attachments?: boolean;
  maxAttachmentBytes?: number;
  ca?: string;
  timeoutSeconds?: number;
  authorizeUrl?: string;
  tokenUrl?: string;
}

export const defaultPort = 993;
export const defaultTimeoutSeconds = 60;
export const defaultMaxAttachmentBytes = 10 * 1024 * 1024;

export const configSchema: JsonSchema = {
  type: 'object',
  required: ['host', 'user'],
  additionalProperties: false,
  properties: {
    host: { type: 'string', minLength: 1, title: 'Server', description: 'Name of the mail server.', 'x-order': 1 },
    user: { type: 'string', minLength: 1, title: 'User', description: 'Often the mail address.', 'x-order': 2 },
    port: { type: 'integer', minimum: 1, maximum: 65_535, title: 'Port', default: defaultPort, 'x-order': 4 },
    secure: {
      type: 'boolean',
      title: 'TLS from the start',
      description: 'Off only for a server that offers STARTTLS (often port 143).',
      default: true,
      'x-order': 5,
    },
    startTls: {
      type: 'boolean',
      title: 'Require STARTTLS',
      description: 'Without TLS from the start: off permits a connection that is not encrypted, e.g. to this machine.',
      default: true,
      'x-order': 6,
    },
    mailboxes: {
      type: 'string',
      title: 'Mailboxes',
      description: 'Names with commas between them. Default: all, except those that `specialUse` leaves out.',
      'x-order': 7,
    },
    specialUse: {
      type: 'boolean',
      title: 'Trash, junk and drafts too',
      description: 'Also mirror mailboxes that the server marks as trash, junk or drafts.',
      default: false,
      'x-order': 8,
    },
    attachments: { type: 'boolean', title: 'Read attachments', default: true, 'x-order': 9 },
    maxAttachmentBytes: {
      type: 'integer',
      minimum: 0,
      title: 'Largest attachment',
      description: 'Attachments with more bytes are named in the document, and not read.',
      default: defaultMaxAttachmentBytes,
      'x-order': 10,
    },
    ca: {
      type: 'string',
      title: 'Certificate authority',
      description: 'PEM text of the authority that signed the certificate of a server of your own.',
      'x-order': 11,
    },
    timeoutSeconds: {
      type: 'integer',
      minimum: 1,
      title: 'Longest silence, in seconds',
      description: 'A server that says nothing for so long is asked again later.',
      default: defaultTimeoutSeconds,
      'x-order': 12,
    },
    authorizeUrl: {
      type: 'string',
      format: 'uri',
      title: 'OAuth: where the user consents',
      description: 'Only without a password. The scope stands in its query.',
      'x-order': 13,
    },
    tokenUrl: {
      type: 'string',
      format: 'uri',
      title: 'OAuth: where tokens are given out',
      'x-secret': false,
      'x-order': 14,
    },
  },
};
