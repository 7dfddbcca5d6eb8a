import { ConnectorError, probe, type CheckResult, type Context } from 'memoryd/connector';
import { openMail } from './client.ts';
import type { ImapConfig } from './config.ts';
import { chooseMailboxes } from './mailboxes.ts';

export async function checkMail(ctx: Context<ImapConfig>): Promise<CheckResult[]> {
  const mail = await openMail(ctx);
  const login = await probe('login', 'The server can be reached and takes the login', () =>
    mail.use(async (client) => (client.secureConnection ? 'Encrypted.' : 'Not encrypted.')),
  );
  if (login.status !== 'ok') return [login];
  const read = await probe('read', 'The mailboxes can be read', () =>
    mail.use(async (client) => {
      const paths = await chooseMailboxes(client, ctx);
      if (paths.length === 0) throw new ConnectorError('bad_config', 'There is no mailbox to mirror.');
      await client.mailboxOpen(paths[0]!, { readOnly: true });
      return `${paths.length} mailboxes`;
    }),
  );
  return [login, read];
}
