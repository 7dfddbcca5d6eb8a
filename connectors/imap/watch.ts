import type { ImapFlow } from 'imapflow';
import type { Context, Hint } from 'memoryd/connector';
import { closeClient, connect } from './client.ts';
import type { ImapConfig } from './config.ts';
import { chooseMailboxes } from './mailboxes.ts';

/** Reports new and removed mail of the first mailbox (the inbox, if it is chosen) by IDLE until the abort. */
export async function watchMail(ctx: Context<ImapConfig>, hint: (hint: Hint) => void): Promise<void> {
  const client = await connect(ctx);
  const stop = () => client.close();
  ctx.signal.addEventListener('abort', stop, { once: true });
  try {
    const paths = await chooseMailboxes(client, ctx);
    const path = paths.find((one) => one.toUpperCase() === 'INBOX') ?? paths[0];
    if (path === undefined) return;
    await client.mailboxOpen(path, { readOnly: true });
    client.on('exists', () => hint({}));
    client.on('expunge', () => hint({}));
    // What came between the last sync and now is found as well.
    hint({});
    while (!ctx.signal.aborted && client.usable) await idleOnce(client);
    if (!ctx.signal.aborted) throw new Error('The mail server ended the connection that waits for mail.');
  } finally {
    ctx.signal.removeEventListener('abort', stop);
    await closeClient(client);
  }
}

async function idleOnce(client: ImapFlow): Promise<void> {
  await client.idle();
}
