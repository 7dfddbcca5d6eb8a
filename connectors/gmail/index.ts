import { defineConnector, transient, type BudgetSpec, type Http } from 'memoryd/connector';
import { googleOAuth } from '../google/oauth.ts';
import { classifyGoogle } from '../google/refusals.ts';
import { fetchBacklog } from './backlog.ts';
import { checkGmail } from './check.ts';
import { configSchema, defaultUnits, type GmailConfig } from './config.ts';
import { changesSince, headOf } from './history.ts';
import { listLabels } from './labels.ts';
import { listPage, type GmailCursor } from './list.ts';
import { fetchThread, lookUpThreads } from './threads.ts';

const apiHost = 'gmail.googleapis.com';
const readOnly = 'https://www.googleapis.com/auth/gmail.readonly';
/** The only scope that opens IMAP: https://developers.google.com/workspace/gmail/imap/xoauth2-protocol */
const fullAccess = 'https://mail.google.com/';

/** Mirrors the mail of a Gmail account: one document for each thread. Reads only. */
export default defineConnector<GmailConfig, GmailCursor>({
  spec: {
    name: 'gmail',
    version: '1.0.0',
    title: 'Gmail',
    kind: 'mail',
    description: 'Mirrors the mail of a Gmail account, one document for each thread.',
    config: configSchema,
    auth: [
      googleOAuth({
        scopes: [readOnly],
        scopesFor: ({ firstLoad }: GmailConfig) => [firstLoad === 'imap' ? fullAccess : readOnly],
        identity: accountOf,
      }),
    ],
    limits: budgetsOf,
    origins: [`https://${apiHost}`],
    classify: classifyGoogle,
    // Nothing promises that a list of mails is complete.
    listing: 'partial',
    // Only a thread's texts, and attachments under a limit of their own, are read.
    maxItemBytes: 1024 ** 3,
    // A minute costs two units of the quota.
    schedule: { everyMs: 60_000, reconcileEveryMs: 24 * 3_600_000 },
    // Changes tell that a thread changed, not what it holds then.
    revs: 'loose',
    documentType: 'text',
  },
  check: checkGmail,
  resources: listLabels,
  partitions: async () => [{ id: 'mail', title: 'Mail' }],
  head: headOf,
  list: (ctx, partition, from) => listPage(ctx, partition, from),
  changes: (ctx, _partition, from) => changesSince(ctx, from),
  fetch: (ctx, _partition, ref) => fetchThread(ctx, ref),
  fetchMany: (ctx, _partition, refs) => fetchBacklog(ctx, refs),
  lookup: (ctx, _partition, ids) => lookUpThreads(ctx, ids),
});

async function accountOf(http: Http): Promise<{ id: string; email: string }> {
  const { json } = await http.get(`https://${apiHost}/gmail/v1/users/me/profile`);
  const email: unknown = json?.emailAddress;
  if (typeof email !== 'string') throw transient('Gmail did not tell the account.');
  return { id: email.toLowerCase(), email };
}

/** All requests of a user spend one quota: https://developers.google.com/workspace/gmail/api/reference/quota */
function budgetsOf(config: GmailConfig): BudgetSpec[] {
  const { unitsPerMinute, threadUnits, messageUnits } = { ...defaultUnits, ...config };
  const costs: [path: string, weight: number][] = [
    ['threads/*', threadUnits],
    ['messages/*', messageUnits],
    ['messages/*/attachments/*', messageUnits],
    ['messages', 5],
    ['history', 2],
    ['labels', 1],
    ['profile', 1],
  ];
  return costs.map(([path, weight]) => ({
    match: `GET ${apiHost}/gmail/v1/users/me/${path}`,
    weight,
    rate: unitsPerMinute,
    perMs: 60_000,
    quota: 'units',
  }));
}
