import type { Context, JsonSchema } from 'memoryd/connector';

/** Settings of a connection of this connector. Absent fields have the defaults of `configSchema`. */
export interface GmailConfig {
  query?: string;
  attachments?: boolean;
  maxAttachmentBytes?: number;
  firstLoad?: 'api' | 'imap';
  unitsPerMinute?: number;
  threadUnits?: number;
  messageUnits?: number;
}

export type GmailContext = Context<GmailConfig>;

/** Limits of Cloud projects made since May 2026: https://developers.google.com/workspace/gmail/api/reference/quota */
export const defaultUnits = { unitsPerMinute: 6_000, threadUnits: 40, messageUnits: 20 };

/** The largest attachment: it comes as base64 in one JSON answer. */
const mostAttachmentBytes = 18 * 1024 * 1024;

export const configSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 1_000,
      title: 'Search',
      description:
        'Only threads with a mail that this search finds, in the words of Gmail’s search box: `newer_than:2y -category:promotions`.',
      'x-order': 1,
    },
    attachments: { type: 'boolean', title: 'Read attachments', default: true, 'x-order': 2 },
    maxAttachmentBytes: {
      type: 'integer',
      minimum: 0,
      maximum: mostAttachmentBytes,
      title: 'Largest attachment',
      description: 'Attachments with more bytes are named in the document, and not read.',
      default: 10 * 1024 * 1024,
      'x-order': 3,
    },
    firstLoad: {
      enum: ['api', 'imap'],
      title: 'First load',
      description:
        '`imap` reads the threads of a listing over IMAP, which has no limit of units: a large mailbox is there in minutes. It needs the scope of full mail access, which the consent then asks for.',
      default: 'api',
      'x-order': 4,
    },
    unitsPerMinute: {
      type: 'integer',
      minimum: 200,
      title: 'Quota units a minute',
      description:
        'Of one user. Projects made before May 2026 have 15,000, with `threadUnits` 10 and `messageUnits` 5.',
      default: defaultUnits.unitsPerMinute,
      'x-order': 5,
    },
    threadUnits: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      title: 'Units of a thread',
      default: defaultUnits.threadUnits,
      'x-order': 6,
    },
    messageUnits: {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      title: 'Units of a mail or an attachment',
      default: defaultUnits.messageUnits,
      'x-order': 7,
    },
  },
};
