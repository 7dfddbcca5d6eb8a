import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import gmail from '../../connectors/gmail/index.ts';
import { listPage } from '../../connectors/gmail/list.ts';
import { createGmailWorld } from '../../fixtures/servers/gmail/gmail-world.ts';
import { sized } from '../support/length.ts';
import { openOwnDatabase } from '../support/databases.ts';

const small = { mailsPerRequest: 5, requestsPerPage: 2, threadsPerPage: 3 };
let sizes: typeof small | undefined;

await testConnector({
  database: () => openOwnDatabase(),
  vitest,
  connector: { ...gmail, list: (ctx, partition, from) => listPage(ctx, partition, from, sizes) },
  world(options) {
    sizes = options.pages === 'small' ? small : undefined;
    return createGmailWorld(options);
  },
  // Twice the ids of all mails, five to a page, and of drafts; the history; each changed thread.
  requests: ({ items, changed }) => 6 + 2 * Math.ceil((items * 4) / 3 / 5) + 2 * changed,
  places: sized('some', 'every'),
  manyItems: sized(10_000, 25_000),
  notApplied: [
    // A mail has no access rights and no other name than its subject, which never changes.
    ...['8 access', '9 rename'],
    // A thread is always a document; what cannot be read in it is named there.
    ...['16 too_large', '16 binary', '16 encrypted', '16 empty'],
    // Gmail reports to a queue of Google Cloud alone, which is not asked.
    ...['19 signature', '19 delivery', '19 order', '19 endpoint'],
  ],
});
