import { probe, transient, type CheckResult } from 'memoryd/connector';
import { openMail } from '../imap/client.ts';
import { chooseMailboxes } from '../imap/mailboxes.ts';
import { imapContext } from './backlog.ts';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';

/** Whether Gmail takes the token, whether the token may read mail, and whether it opens IMAP if that is asked for. */
export async function checkGmail(ctx: GmailContext): Promise<CheckResult[]> {
  const account = await probe('account', 'Gmail accepts the authorization', async () => {
    const { emailAddress, threadsTotal } = await ask(ctx, (users) => users.getProfile({ userId: 'me' }));
    if (!emailAddress) throw transient('Gmail did not tell the account.');
    return `${emailAddress}, ${threadsTotal ?? 0} threads`;
  });
  if (account.status !== 'ok' || ctx.config.firstLoad !== 'imap') return [account];
  const imap = await probe('imap', 'Mail can be read over IMAP', async () => {
    const context = await imapContext(ctx);
    const [path] = await (await openMail(context)).use((client) => chooseMailboxes(client, context));
    return path;
  });
  return [account, imap];
}
