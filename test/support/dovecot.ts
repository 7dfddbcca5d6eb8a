import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ImapFlow } from 'imapflow';

const run = promisify(execFile);

/** The system's Dovecot; undefined where there is none. */
export const dovecotBinary = ['/usr/sbin/dovecot', '/usr/local/sbin/dovecot'].find((path) => existsSync(path));

export interface Dovecot {
  port: number;
  /** A writing client, apart from the connector's. Closed with the server. */
  writer(): Promise<ImapFlow>;
  close(): Promise<void>;
}

export const account = { user: 'alice', password: 'alice-secret' };

/** A Dovecot of its own with an empty account, on a free port. `without`: capabilities that it hides. */
export async function startDovecot(binary: string, without: readonly string[] = []): Promise<Dovecot> {
  const folder = await mkdtemp(join(tmpdir(), 'dovecot-'));
  const port = await freePort();
  const owner = process.getuid?.() === 0 ? 'nobody' : (await run('id', ['-un'])).stdout.trim();
  await mkdir(join(folder, 'mail'));
  await writeFile(join(folder, 'users'), `${account.user}:{PLAIN}${account.password}::::::\n`);
  await writeFile(join(folder, 'dovecot.conf'), await configOf(folder, port, owner, without));
  await chmod(folder, 0o755);
  if (process.getuid?.() === 0) await run('chown', ['-R', owner, folder]);
  const server = spawn(binary, ['-F', '-c', join(folder, 'dovecot.conf')], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const writers: ImapFlow[] = [];
  async function close(): Promise<void> {
    for (const writer of writers) writer.close();
    server.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
  async function writer(): Promise<ImapFlow> {
    const client = newClient(port);
    await client.connect();
    writers.push(client);
    return client;
  }
  try {
    await ready(port, () => server.exitCode !== null);
  } catch (error) {
    await close();
    throw error;
  }
  return { port, writer, close };
}

function newClient(port: number): ImapFlow {
  const auth = { user: account.user, pass: account.password };
  const client = new ImapFlow({ host: '127.0.0.1', port, secure: false, auth, logger: false, disableAutoIdle: true });
  client.on('error', () => {});
  return client;
}

async function ready(port: number, hasEnded: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (hasEnded()) break;
    const client = newClient(port);
    try {
      await client.connect();
      await client.logout();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      client.close();
    }
  }
  throw new Error('Dovecot did not start.');
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function configOf(folder: string, port: number, owner: string, without: readonly string[]): Promise<string> {
  const { stdout } = await run('id', ['-g', owner]);
  const group = stdout.trim();
  const groupName = (await run('id', ['-gn', owner])).stdout.trim();
  const uid = (await run('id', ['-u', owner])).stdout.trim();
  const base = 'IMAP4rev1 SASL-IR LOGIN-REFERRALS ID ENABLE IDLE UIDPLUS MOVE SPECIAL-USE NAMESPACE';
  const hidden = without.length === 0 ? '' : `protocol imap {\n  imap_capability = ${base}\n}`;
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
default_internal_user = ${owner}
default_internal_group = ${groupName}
default_login_user = ${owner}
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:${folder}/mail/%u
mail_fsync = never
mail_max_userip_connections = 100
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    address = 127.0.0.1
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
}
passdb {
  driver = passwd-file
  args = ${folder}/users
}
userdb {
  driver = static
  args = uid=${uid} gid=${group} home=${folder}/mail/%u
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Trash {
    special_use = \\Trash
    auto = create
  }
  mailbox Sent {
    special_use = \\Sent
    auto = create
  }
}
${hidden}
`;
}
