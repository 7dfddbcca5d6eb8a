import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { serveGmail } from '../../fixtures/servers/gmail/gmail-server.ts';
import { createGmailSource } from '../../fixtures/servers/gmail/gmail-source.ts';
import { serveGoogleLogin } from '../../fixtures/servers/google/google-login.ts';
import { serveDrive } from '../../fixtures/servers/google-drive/drive-server.ts';
import { createDriveSource } from '../../fixtures/servers/google-drive/drive-source.ts';
import { serveNotion } from '../../fixtures/servers/notion/server.ts';
import { createWorkspace } from '../../fixtures/servers/notion/workspace.ts';
import { startDaemon } from './daemon.ts';

export const account = 'ada@example.com';
export const notionToken = 'ntn_0123456789';
const apiKey = 'key of the test';

/** A real daemon for which stand-ins take the place of Google and Notion, under their own host names. */
export async function startDaemonOnline() {
  const clock = { now: () => new Date() };
  const login = await serveGoogleLogin(clock, { accounts: ['eve@example.com', account] });
  const isOfAccount = (token: string) => login.accountOf(token) === account;
  const drive = createDriveSource(clock);
  const mail = createGmailSource(clock, account);
  const workspace = createWorkspace(clock);
  const driveServer = await serveDrive({ source: drive, clock, token: isOfAccount });
  const mailServer = await serveGmail({ source: mail, clock, token: isOfAccount });
  const notionServer = await serveNotion({ workspace, clock, isGood: (token) => token === notionToken });
  const hosts = {
    'oauth2.googleapis.com': login.url,
    'www.googleapis.com': driveServer.url,
    'docs.google.com': driveServer.url,
    'gmail.googleapis.com': mailServer.url,
    ...notionServer.hosts,
  };
  const hook = pathToFileURL(join(import.meta.dirname, 'redirected-hosts-main.ts')).href;
  const daemon = await startDaemon({
    env: {
      MEMORYD_API_KEY: apiKey,
      MEMORYD_EMBEDDER_KIND: 'hashing',
      GOOGLE_CLIENT_ID: login.client.id,
      GOOGLE_CLIENT_SECRET: login.client.secret,
      REDIRECTED_HOSTS: JSON.stringify(hosts),
      NODE_OPTIONS: `--import=${hook} --disable-warning=ExperimentalWarning`,
    },
  });
  return {
    ...{ daemon, apiKey, login, drive, mail, workspace },
    /** Throws when something was asked or answered that the sources do not describe. */
    async stop() {
      await daemon.stop();
      await login.close();
      for (const server of [driveServer, mailServer, notionServer]) await server.close();
    },
  };
}
