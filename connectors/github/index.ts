import { defineConnector, type JsonObject } from 'memoryd/connector';
import { authSpecs } from './auth.ts';
import { checkGithub } from './check.ts';
import { baseUrlOf, configSchema, contentOf, webUrlOf, type ContentKind, type GithubConfig } from './config.ts';
import { fetchFile, fetchFiles } from './contents.ts';
import {
  changesOfDiscussions,
  fetchDiscussion,
  headOfDiscussions,
  listDiscussions,
  lookUpDiscussions,
} from './discussions.ts';
import { changesOfFiles, headOfFiles, listFiles } from './files.ts';
import { receive } from './hooks.ts';
import { fetchIssue } from './issue-document.ts';
import { changesOfIssues, headOfIssues, listIssues, lookUpIssues } from './issues.ts';
import { budgets, classify } from './limits.ts';
import { placeOf } from './place.ts';
import { changesOfReleases, fetchRelease, headOfReleases, listReleases } from './releases.ts';
import { partitionsOf } from './repositories.ts';
import { resourcesOf } from './resources.ts';
import { changesOfWiki, fetchPage, headOfWiki, listWiki } from './wiki.ts';

const kinds = {
  files: { head: headOfFiles, list: listFiles, changes: changesOfFiles, fetch: fetchFile },
  issues: { head: headOfIssues, list: listIssues, changes: changesOfIssues, fetch: fetchIssue },
  releases: { head: headOfReleases, list: listReleases, changes: changesOfReleases, fetch: fetchRelease },
  discussions: {
    head: headOfDiscussions,
    list: listDiscussions,
    changes: changesOfDiscussions,
    fetch: fetchDiscussion,
  },
  wiki: { head: headOfWiki, list: listWiki, changes: changesOfWiki, fetch: fetchPage },
} satisfies Record<ContentKind, object>;

/** Wikis are no part of the API. */
function originsOf(config: GithubConfig): string[] {
  const addresses = [baseUrlOf(config), ...(contentOf(config).includes('wiki') ? [webUrlOf(config)] : [])];
  return addresses.map((address) => new URL(address).origin);
}

const kindOf = (partition: { id: string }) => placeOf(partition).kind;

/** Mirrors repositories: the files of a branch, issues and pull requests, releases, discussions, the wiki. Reads only. */
export default defineConnector<GithubConfig, JsonObject>({
  spec: {
    name: 'github',
    version: '1.0.0',
    title: 'GitHub',
    kind: 'code',
    description: 'Mirrors files, issues, pull requests, releases, discussions and wikis of repositories.',
    config: configSchema,
    auth: authSpecs,
    limits: budgets,
    origins: originsOf,
    classify,
    schedule: { everyMs: 4 * 3_600_000, reconcileEveryMs: 24 * 3_600_000 },
    documentType: 'text',
  },
  check: checkGithub,
  resources: resourcesOf,
  partitions: partitionsOf,
  head: (ctx, partition) => kinds[kindOf(partition)].head(ctx, partition),
  list: (ctx, partition, from) => kinds[kindOf(partition)].list(ctx, partition, from),
  changes: (ctx, partition, from) => kinds[kindOf(partition)].changes(ctx, partition, from),
  fetch: (ctx, partition, ref) => kinds[kindOf(partition)].fetch(ctx, partition, ref),
  async *fetchMany(ctx, partition, refs) {
    if (kindOf(partition) === 'files') yield* fetchFiles(ctx, partition, refs);
  },
  async lookup(ctx, partition, ids) {
    if (kindOf(partition) === 'issues') return lookUpIssues(ctx, partition, ids);
    if (kindOf(partition) === 'discussions') return lookUpDiscussions(ctx, partition, ids);
    return { refs: [], incomplete: 'Only issues and discussions can be looked up.' };
  },
  hooks: { gatherMs: 60_000, maxBodyBytes: 4 * 1024 * 1024, receive: async (raw, secret) => receive(raw, secret) },
});
