import { defineConnector } from 'memoryd/connector';
import { checkMail } from './check.ts';
import { openMail } from './client.ts';
import { configSchema, type ImapConfig } from './config.ts';
import { fetchThread, fetchThreads } from './fetch.ts';
import { changesSince, headOf, listPage, type MailCursor } from './list.ts';
import { listMailboxes } from './mailboxes.ts';
import { watchMail } from './watch.ts';

/**
 * Mirrors the mailboxes of a mail server: one document for each thread, over all mailboxes. One
 * partition, so that a mail that moves stays the same item.
 */
export default defineConnector<ImapConfig, MailCursor>({
  spec: {
    name: 'imap',
    version: '1.0.0',
    title: 'Mail (IMAP)',
    kind: 'mail',
    description: 'Mirrors the mail of any IMAP server, one document for each thread.',
    config: configSchema,
    auth: [
      {
        type: 'basic',
        header: null,
        fields: {
          type: 'object',
          required: ['password'],
          additionalProperties: false,
          properties: {
            password: {
              type: 'string',
              minLength: 1,
              title: 'Password',
              description: 'Large providers want an app password.',
              'x-secret': true,
              'x-order': 3,
            },
          },
        },
      },
      // Scopes differ from provider to provider, and stand in the query of `authorizeUrl`.
      {
        type: 'xoauth2',
        title: 'OAuth (XOAUTH2 or OAUTHBEARER)',
        authorizeUrl: '{+authorizeUrl}',
        tokenUrl: '{+tokenUrl}',
        scopes: [],
      },
    ],
    // Only a thread's texts, and attachments under a limit of their own, are read.
    maxItemBytes: 1024 ** 3,
    schedule: { everyMs: 5 * 60_000, reconcileEveryMs: 24 * 3_600_000 },
    documentType: 'text',
  },
  check: checkMail,
  resources: async (ctx) => (await openMail(ctx)).use(listMailboxes),
  partitions: async (ctx) => [{ id: 'mail', title: ctx.config.user }],
  list: (ctx, partition, from) => listPage(ctx, partition, from),
  head: headOf,
  changes: changesSince,
  fetch: fetchThread,
  fetchMany: fetchThreads,
  watch: watchMail,
});
