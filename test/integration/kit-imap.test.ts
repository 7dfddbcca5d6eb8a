import * as vitest from 'vitest';
import { testConnector } from 'memoryd/testing';
import imap from '../../connectors/imap/index.ts';
import { listPage } from '../../connectors/imap/list.ts';
import { dovecotBinary, startDovecot, type Dovecot } from '../../fixtures/servers/imap/dovecot.ts';
import { createImapWorld } from '../../fixtures/servers/imap/imap-world.ts';
import { sized } from '../support/length.ts';
import { describeWhen } from '../support/services.ts';
import { openOwnDatabase } from '../support/databases.ts';

let threadsPerPage: number | undefined;
let server: Promise<Dovecot> | undefined;

if (dovecotBinary === undefined) {
  describeWhen(dovecotBinary, 'there is no Dovecot', 'the acceptance kit over Dovecot', () => {
    vitest.it('needs one', () => undefined);
  });
} else {
  const binary = dovecotBinary;
  vitest.afterAll(async () => (await server)?.close());
  await testConnector({
    database: () => openOwnDatabase(),
    vitest,
    connector: { ...imap, list: (ctx, partition, from) => listPage(ctx, partition, from, threadsPerPage) },
    async world(options) {
      threadsPerPage = options.pages === 'small' ? 3 : undefined;
      server ??= startDovecot(binary);
      return createImapWorld(options, await server);
    },
    requests: ({ changed }) => 60 + changed,
    places: sized('some', 'every'),
    // A real server needs a minute for 25,000. A listing that held 1.4 KB of each mail would be found with these.
    manyItems: sized(5_000, 10_000),
    notApplied: [
      // A mail has no access rights and no other name than its subject, which never changes.
      ...['8 access', '9 rename'],
      // Only one way of writing limits says for how long (Exchange). OAuth has a test of its own.
      ...['12 other-status', '13 one-refresh', '13 crash', '14 withdrawn'],
      // A thread is always a document; what cannot be read in it is named there.
      ...['16 too_large', '16 binary', '16 encrypted', '16 empty'],
      // Mail is hinted at as a whole, never by its ids.
      ...['19 signature', '19 delivery', '19 order', '19 endpoint', '22 look-up'],
    ],
  });
}
