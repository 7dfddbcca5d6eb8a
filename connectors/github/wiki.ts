import {
  ConnectorError,
  cursorExpired,
  sourceMissing,
  transient,
  type Fetched,
  type JsonObject,
  type Page,
  type Partition,
  type Ref,
} from 'memoryd/connector';
import { remember, type GithubContext } from './client.ts';
import { webUrlOf } from './config.ts';
import { blobOf } from './file-ref.ts';
import { placeOf } from './place.ts';
import { findById } from './repositories.ts';
import { readWikiHead } from './wiki-git.ts';
import { openWiki } from './wiki-pack.ts';
import { skippedByName, toPage, toRef } from './wiki-page.ts';

/** Refs on one page. */
const defaultPageSize = 1_000;

/** Where a wiki stands. */
interface Position {
  /** Null: there is nothing to read. */
  commit: string | null;
  /** The repository's address, e.g. `https://github.com/owner/name`. */
  url: string;
  /** Why there is no commit: wikis are off in the repository, GitHub knows no wiki of it, or nothing is in it. */
  without?: 'off' | 'missing' | 'empty';
}

/** The last position that this run has seen of each wiki. */
const seenPositions = (ctx: GithubContext) => remember<Position>(ctx, 'wikis');

const gitUrlOf = (ctx: GithubContext, url: string) => `${webUrlOf(ctx.config)}${new URL(url).pathname}.wiki.git`;

/** With what was seen of it a moment ago, which holds unless the repository has another name. */
async function readPosition(ctx: GithubContext, partition: Partition, seen?: Position): Promise<Position> {
  const { html_url: url, has_wiki: isOn } = await findById(ctx, placeOf(partition).repositoryId);
  const position = isOn === false ? off(url) : seen?.url === url ? seen : await readPages(ctx, url);
  (await seenPositions(ctx)).set(partition.id, position);
  return position;
}

const off = (url: string): Position => ({ commit: null, url, without: 'off' });

async function readPages(ctx: GithubContext, url: string): Promise<Position> {
  const head = await readWikiHead(ctx, gitUrlOf(ctx, url));
  if (head === 'missing') return { commit: null, url, without: 'missing' };
  return head === null ? { commit: null, url, without: 'empty' } : { commit: head, url };
}

export async function headOfWiki(ctx: GithubContext, partition: Partition): Promise<JsonObject> {
  return json((await seenPositions(ctx)).get(partition.id) ?? (await readPosition(ctx, partition)));
}

const json = (position: Position) => ({ ...position }) as unknown as JsonObject;

/**
 * One request while nothing was written. A wiki has no list of changes, and its pages are few, so that
 * they are listed when something was.
 */
export async function changesOfWiki(
  ctx: GithubContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  const old = from as unknown as Position;
  const now = await (old.without === 'off' ? readPosition(ctx, partition) : readPages(ctx, old.url));
  if (now.commit === old.commit && now.without === old.without) {
    (await seenPositions(ctx)).set(partition.id, now);
    return { refs: [], next: from, done: true };
  }
  const position = await readPosition(ctx, partition, now);
  // A wiki that is switched off says so. GitHub deletes none otherwise, but hides what a token may not see.
  if (position.without === 'missing' && old.commit !== null) {
    throw sourceMissing(
      'GitHub shows no wiki where there was one.',
      'Give the token read access to Contents again, or switch the wiki off in the settings of the repository.',
    );
  }
  throw cursorExpired('The wiki was changed.');
}

/** The files of one commit, in slices; where the slice begins stands in the cursor. */
export async function listWiki(
  ctx: GithubContext,
  partition: Partition,
  from?: JsonObject,
  pageSize = defaultPageSize,
): Promise<Page<JsonObject>> {
  const seen = (await seenPositions(ctx)).get(partition.id);
  // A wiki that is switched off may still be there for Git.
  const position = seen && from ? seen : await readPosition(ctx, partition, seen);
  const { commit, url, without } = position;
  if (from && from['commit'] !== commit) {
    // The next listing of this run begins with what is there now.
    (await seenPositions(ctx)).delete(partition.id);
    throw cursorExpired('The wiki was changed while it was listed.');
  }
  if (commit === null) {
    // Nobody has seen in this run whether there was one before.
    const isUnsure = without === 'missing' && !seen;
    return { refs: [], done: true, ...(isUnsure ? { incomplete: 'GitHub shows no wiki.' } : {}) };
  }
  const wiki = await openListed(ctx, partition, { url, commit });
  if (typeof wiki === 'string') return { refs: [], done: true, incomplete: wiki };
  const start = Number(from?.['start'] ?? 0);
  const { repositoryId } = placeOf(partition);
  const end = start + pageSize;
  const total = wiki.entries.size;
  const refs = [...wiki.entries.values()].slice(start, end).map((entry) => toRef(repositoryId, url, entry));
  return end < total ? { refs, total, next: { commit, start: end } } : { refs, total, done: true };
}

/** The reason when it is too large. */
async function openListed(ctx: GithubContext, partition: Partition, at: { url: string; commit: string }) {
  try {
    return await openWiki(ctx, partition, { ...at, url: gitUrlOf(ctx, at.url) });
  } catch (error) {
    if (ConnectorError.is(error) && error.kind === 'skip') return error.message;
    throw error;
  }
}

/** From the pack of the newest commit. Throws `source_missing` when there is no wiki any more. */
export async function fetchPage(ctx: GithubContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const position = (await seenPositions(ctx)).get(partition.id) ?? (await readPosition(ctx, partition));
  if (position.commit === null) throw sourceMissing('GitHub shows no wiki where there was one.');
  const { commit, url } = position;
  const wiki = await openListed(ctx, partition, { url, commit });
  if (typeof wiki === 'string') throw transient(wiki);
  const entry = wiki.entries.get(ref.path ?? '');
  if (!entry) return { gone: true };
  // The page may have been written again since it was listed.
  const present = toRef(placeOf(partition).repositoryId, url, entry);
  const skipped = skippedByName(present);
  if (skipped) return skipped;
  return { ...toPage(present, await wiki.read(blobOf(present).sha)), rev: present.rev };
}
