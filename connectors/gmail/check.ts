import { probe, transient, type CheckResult } from 'memoryd/connector';
import { ask } from './client.ts';
import type { GmailContext } from './config.ts';

/** Whether Gmail takes the token, and whether the token may read mail. */
export async function checkGmail(ctx: GmailContext): Promise<CheckResult[]> {
  const account = await probe('account', 'Gmail accepts the authorization', async () => {
    const { emailAddress, threadsTotal } = await ask(ctx, (users) => users.getProfile({ userId: 'me' }));
    if (!emailAddress) throw transient('Gmail did not tell the account.');
    return `${emailAddress}, ${threadsTotal ?? 0} threads`;
  });
  return [account];
}
