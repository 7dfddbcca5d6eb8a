import fs from 'node:fs';
import { ConnectorError, skip, transient, type Partition } from 'memoryd/connector';
import { hashOf } from './blob-hash.ts';
import { remember, type GithubContext } from './client.ts';
import { placeOf } from './place.ts';
import type { TreeEntry } from './trees.ts';
import { createGitClient, maxPackBytes, unreadable } from './wiki-git.ts';

/** All files of one commit of a wiki, on disk until the run ends. */
export interface WikiPack {
  /** By their paths. */
  entries: ReadonlyMap<string, TreeEntry>;
  /** The content of a blob. Throws `transient` when the pack does not hold it exactly. */
  read(sha: string): Promise<Uint8Array>;
}

/** Packs that are held in memory at once; others are read from the disk again. */
const keptPacks = 4;

/** Throws `skip` of `too_large` for a wiki over 100 MiB. */
export function openWiki(ctx: GithubContext, partition: Partition, at: { url: string; commit: string }) {
  return ctx.session(`github:wiki:${placeOf(partition).repositoryId}:${at.commit}`, async () => {
    try {
      return await download(ctx, at);
    } catch (error) {
      ctx.signal.throwIfAborted();
      const known = ConnectorError.find(error);
      // It was there a moment ago: that is no deletion.
      if (known?.kind === 'gone') throw transient('GitHub has stopped to show the wiki.');
      if (known?.kind === 'skip') throw tooLarge();
      throw known ?? unreadable(error);
    }
  });
}

const tooLarge = () =>
  skip('too_large', `The wiki is not read, because with its images it is larger than ${maxPackBytes / 1024 ** 2} MiB.`);

/** One request for the newest commit without its history. */
async function download(ctx: GithubContext, { url, commit }: { url: string; commit: string }): Promise<WikiPack> {
  const git = await import('isomorphic-git');
  const gitdir = await ctx.temporaryFolder();
  const repository = { fs, gitdir, cache: {} };
  await holdPack(ctx, gitdir, () => (repository.cache = {}));
  await git.init({ ...repository, bare: true });
  await git.addRemote({ ...repository, remote: 'origin', url });
  const http = createGitClient(ctx, url);
  const options = { remoteRef: 'HEAD', ref: 'HEAD', singleBranch: true, depth: 1, tags: false };
  const { fetchHead } = await git.fetch({ ...repository, http, url, ...options });
  if (fetchHead !== commit) throw transient('The wiki was changed while it was read.');
  const entries = new Map<string, TreeEntry>();
  await git.walk({
    ...repository,
    trees: [git.TREE({ ref: commit })],
    map: async (path, [entry]) => {
      const type = await entry!.type();
      if (type === 'tree') return true;
      const mode = (await entry!.mode()).toString(8);
      entries.set(path, { path, mode, type, sha: await entry!.oid() });
      return undefined;
    },
  });
  return {
    entries,
    async read(sha) {
      await holdPack(ctx, gitdir, () => (repository.cache = {}));
      const { blob } = await git.readBlob({ ...repository, oid: sha }).catch((error: unknown) => {
        throw unreadable(error);
      });
      if (hashOf(blob) !== sha) throw transient('The pack of the wiki is damaged.');
      return blob;
    },
  };
}

/** The library holds a pack for as long as its cache is there. */
async function holdPack(ctx: GithubContext, name: string, release: () => void): Promise<void> {
  const held = await remember<() => void>(ctx, 'wiki-packs');
  // The one that was used last is released last.
  held.delete(name);
  held.set(name, release);
  for (const [old, releaseOld] of held) {
    if (held.size <= keptPacks) return;
    releaseOld();
    held.delete(old);
  }
}
