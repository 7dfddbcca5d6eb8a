import { renameSync } from 'node:fs';
import { customIdOf } from '../../../src/sync/check-item.ts';
import type { World } from '../../../src/connector-kit/world.ts';
import { createFolderWorld } from '../../../fixtures/servers/folder-world.ts';
import { createGithubIssuesWorld } from '../../../fixtures/servers/github/github-issues-world.ts';
import { createGithubWorld } from '../../../fixtures/servers/github/github-world.ts';
import type { Dovecot } from '../../../fixtures/servers/imap/dovecot.ts';
import { createImapWorld } from '../../../fixtures/servers/imap/imap-world.ts';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts';
import type { WorldName } from './program.ts';

export type SourceName = Exclude<WorldName, 'api'>;

/** A source with the connection that mirrors it. */
export interface Source {
  name: SourceName;
  provider: string;
  world: World;
  /** Of the connection. */
  settings: Record<string, unknown>;
  /** Names of the items that it holds now. */
  items: Set<string>;
  /** Absent: there is no network between. */
  proxy?: CuttingProxy;
}

const clock = { now: () => new Date() };
const options = { clock, canary: 'chaos', pages: 'full' } as const;

export async function openSources(dovecot: Dovecot | undefined): Promise<Source[]> {
  const folder = createFolderWorld();
  const sources: Source[] = [
    { name: 'folder', provider: 'folder', world: folder, settings: { ...folder.config }, items: new Set() },
  ];
  if (dovecot) sources.push(await overImap(dovecot));
  sources.push(await overGithub('files', await createGithubWorld(options)));
  sources.push(await overGithub('issues', await createGithubIssuesWorld(options)));
  for (const { world, items } of sources) {
    for (const name of ['first', 'second', 'third']) {
      await world.create(name, `${name}, which stays as it is.`);
      items.add(name);
    }
  }
  return sources;
}

async function overImap(dovecot: Dovecot): Promise<Source> {
  const world = await createImapWorld(options, dovecot);
  await world.containers!.create('shelf');
  const proxy = await startCuttingProxy(Number(world.config['port']));
  const settings = { ...world.config, port: proxy.port, ...world.credentials, timeoutSeconds: 5 };
  return { name: 'imap', provider: 'imap', world, settings, items: new Set(), proxy };
}

async function overGithub(name: 'files' | 'issues', world: World): Promise<Source> {
  const { config } = world;
  const proxy = await startCuttingProxy(Number(new URL(config['baseUrl'] as string).port));
  const url = `http://127.0.0.1:${proxy.port}`;
  const { accessToken: token } = await world.oauth!.grant();
  return {
    name,
    provider: 'github',
    world,
    settings: { ...config, baseUrl: url, webUrl: url, token },
    items: new Set(),
    proxy,
  };
}

/** Applies a change where the world can do it, and what it asks for is there. Some items always stay. */
export async function changeSource({ world, items }: Source, step: SourceChange): Promise<void> {
  const isThere = items.has(step.name);
  if (step.do === 'create' && !isThere) {
    await world.create(step.name, step.text);
    items.add(step.name);
  } else if (step.do === 'edit' && isThere) await world.edit(step.name, step.text);
  else if (step.do === 'rename' && isThere) await world.rename?.(step.name, step.title);
  else if (step.do === 'move' && isThere) await world.containers?.move(step.name, 'shelf');
  else if (step.do === 'remove' && isThere) {
    await world.remove(step.name);
    items.delete(step.name);
  }
}

export type SourceChange =
  | { do: 'create' | 'edit'; name: string; text: string }
  | { do: 'remove' | 'move'; name: string }
  | { do: 'rename'; name: string; title: string };

/** What memory must hold of a source, by customId. */
export async function expectedOf({ world, provider }: Source): Promise<Map<string, string>> {
  const expected = await world.expected([]);
  return new Map([...expected].map(([id, { text }]) => [customIdOf(provider, id), text.trim()]));
}

/** The folder is away until the answer is called. */
export function unmount({ settings }: Source): () => void {
  const path = settings['path'] as string;
  renameSync(path, `${path}.away`);
  return () => renameSync(`${path}.away`, path);
}
