import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { docExports } from '../../fixtures/servers/google-drive/drive-answers.ts';
import { docType, folderType } from '../../fixtures/servers/google-drive/drive-source.ts';
import { idFor } from '../../fixtures/servers/notion/workspace.ts';
import { account, notionToken, startDaemonOnline } from '../support/google-and-notion.ts';
import { call, found } from '../support/memory-of.ts';

let online: Awaited<ReturnType<typeof startDaemonOnline>>;
let client: Supermemory;
beforeAll(async () => {
  online = await startDaemonOnline();
  client = new Supermemory({ baseURL: online.daemon.url, apiKey: online.apiKey, maxRetries: 0 });
});
afterAll(() => online.stop());

const eventually = (read: () => unknown) => expect.poll(read, { timeout: 60_000 });

/** Follows an authorization link to its end, with nobody at the keyboard. */
async function consent(authLink: string): Promise<void> {
  const back = await online.login.consent(authLink, account);
  const answer = await fetch(`${online.daemon.url}${back.pathname}${back.search}`, { redirect: 'manual' });
  expect(answer.status).toBeLessThan(400);
}

function addDoc(name: string, text: string, parent?: string): string {
  const folder = parent === undefined ? {} : { parent };
  return online.drive.add({ name, mimeType: docType, exports: docExports(text), ...folder }).id;
}

interface Case {
  provider: 'google-drive' | 'gmail' | 'notion';
  metadata: Record<string, string>;
  /** Two things of which one lies in a place that can be chosen; answers the name of the place. */
  fill(): string;
  /** Adds something to the place. */
  add(): void;
}

const cases: Case[] = [
  {
    provider: 'google-drive',
    metadata: {},
    fill() {
      addDoc('bakery', 'Bread at six.');
      const folder = online.drive.addDrive('Port');
      addDoc('crane', 'The harbour crane.', folder);
      return 'Port';
    },
    add: () => void addDoc('tunnel', 'It opens in June.', [...online.drive.drives.keys()][0]),
  },
  {
    provider: 'gmail',
    metadata: {},
    fill() {
      online.mail.add({ subject: 'bakery', text: 'Bread at six.' });
      online.mail.add({ subject: 'crane', text: 'The crane.', labelIds: [online.mail.addLabel('Port')] });
      return 'Port';
    },
    add() {
      const [label] = [...online.mail.labels.values()].filter(({ name }) => name === 'Port');
      online.mail.add({ subject: 'tunnel', text: 'It opens in June.', labelIds: [label!.id] });
    },
  },
  {
    provider: 'notion',
    metadata: { token: notionToken },
    fill() {
      online.workspace.addPage('bakery', { text: 'Bread at six.' });
      online.workspace.addPage('Port', { text: '' });
      online.workspace.addPage('crane', { text: 'The crane.', parent: { type: 'page', id: idFor('Port') } });
      return 'Port';
    },
    add() {
      const parent = { type: 'page', id: idFor('Port') } as const;
      online.workspace.addPage('tunnel', { text: 'It opens in June.', parent });
    },
  },
];

describe.each(cases)('a connection to $provider by the official client', ({ provider, metadata, fill, add }) => {
  const containerTag = `client-${provider}`;
  const tagged = { containerTags: [containerTag] };

  async function titles(): Promise<string[]> {
    const documents = await client.connections.listDocuments(provider, tagged);
    return documents.flatMap(({ status, title }) => (status === 'done' ? [title ?? ''] : [])).toSorted();
  }

  it('is made, shown, narrowed to what is chosen, imported and deleted', async () => {
    const place = fill();
    const created = await client.connections.create(provider, { containerTag, metadata });
    if (provider === 'notion') expect(created.authLink).toBeNull();
    else await consent(created.authLink);
    // Shared drives are mirrored when they are chosen.
    await eventually(titles).toEqual(provider === 'google-drive' ? ['bakery'] : ['bakery', 'crane']);

    expect(await client.connections.getByID(created.id)).toMatchObject({ provider, containerTags: [containerTag] });
    expect(await client.connections.getByTag(provider, tagged)).toMatchObject({ id: created.id });
    const { resources } = await client.connections.resources(created.id, { page: 1, per_page: 50 });
    const chosen = resources.filter(({ name }) => name === place);
    expect(chosen).toHaveLength(1);
    const answer = await client.connections.configure(created.id, { resources: chosen });
    expect(answer).toMatchObject({ success: true, message: '1 resource configured, sync started' });
    await eventually(titles).toEqual(['crane']);

    add();
    expect(await client.connections.import(provider, tagged)).toBe('Importing connections...');
    await eventually(titles).toEqual(['crane', 'tunnel']);

    expect(await client.connections.deleteByProvider(provider, tagged)).toMatchObject({ id: created.id, provider });
    await expect(client.connections.getByID(created.id)).rejects.toThrow(Supermemory.NotFoundError);
    expect(await titles()).toEqual([]);
  });
});

describe('Google Drive, from nothing to the first document that is found', () => {
  it('by the pages of consent', async () => {
    addDoc('Lighthouse', 'The lighthouse keeper counts herons.');
    const { daemon } = online;
    const { id, authLink } = await call(daemon, 'POST', '/v3/connections/google-drive', {
      containerTag: 'consent',
    });
    await consent(authLink);
    await eventually(async () => (await found(daemon, 'lighthouse keeper'))[0]?.chunk).toContain('counts herons');
    expect(await call(daemon, 'GET', `/v3/connections/${id}`)).toMatchObject({ email: account });
  });

  it('by a service account in the place of a user of the domain', async () => {
    const { daemon, login } = online;
    const folder = online.drive.add({ name: 'Delegated', mimeType: folderType }).id;
    addDoc('Ferry', 'The ferry leaves at noon for Tomar.', folder);
    const connect = () =>
      call(daemon, 'POST', '/v3/connections/google-drive', {
        containerTag: 'delegated',
        metadata: { key: login.keyFile, subject: account },
      });
    await expect(connect()).rejects.toThrow(/answered 4\d\d/);
    login.delegations.set(account, 'https://www.googleapis.com/auth/drive.readonly');
    const { id, authLink } = await connect();
    expect(authLink).toBeNull();
    await eventually(async () => (await found(daemon, 'ferry at noon'))[0]?.chunk).toContain('leaves at noon');
    const shown = JSON.stringify(await call(daemon, 'GET', `/v3/connections/${id}`));
    expect(shown).not.toContain('PRIVATE KEY');
    expect(daemon.output()).not.toContain('PRIVATE KEY');
  });
});
