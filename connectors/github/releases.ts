import { createHash } from 'node:crypto';
import {
  cursorExpired,
  type Fetched,
  type FetchedDocument,
  type JsonObject,
  type Page,
  type Partition,
  type Ref,
} from 'memoryd/connector';
import { expectShown, getOf, type GithubContext, type ShownBelow } from './client.ts';
import { numberIn, placeOf, releaseIdOf } from './place.ts';

type ShownRelease = ShownBelow<'/releases/{release_id}'>;

const pageSize = 100;

/** Releases have no time of change, so that the first page as a whole is the position. */
export async function headOfReleases(ctx: GithubContext, partition: Partition): Promise<JsonObject> {
  return { page: digest(await readPage(ctx, partition, 1)) };
}

export async function changesOfReleases(
  ctx: GithubContext,
  partition: Partition,
  from: JsonObject,
): Promise<Page<JsonObject>> {
  if (digest(await readPage(ctx, partition, 1)) !== from['page']) throw cursorExpired('There are other releases now.');
  return { refs: [], next: from, done: true };
}

export async function listReleases(
  ctx: GithubContext,
  partition: Partition,
  from?: JsonObject,
): Promise<Page<JsonObject>> {
  const page = Number(from?.['page'] ?? 1);
  const releases = await readPage(ctx, partition, page);
  const { repositoryId } = placeOf(partition);
  const refs = releases.filter(({ draft }) => !draft).map((release) => toRef(repositoryId, release));
  return releases.length < pageSize ? { refs, done: true } : { refs, next: { page: page + 1 } };
}

async function readPage(ctx: GithubContext, partition: Partition, page: number): Promise<ShownRelease[]> {
  const { repositoryId } = placeOf(partition);
  const asked = { per_page: pageSize, page };
  return (await getOf(ctx, repositoryId, '/releases', asked, { conditional: true })).json;
}

export async function fetchRelease(ctx: GithubContext, partition: Partition, ref: Ref): Promise<Fetched> {
  const { repositoryId } = placeOf(partition);
  const release = { release_id: numberIn(ref.id) };
  const answer = await getOf(ctx, repositoryId, '/releases/{release_id}', release, { accept: [404] });
  if (answer.status !== 404) return toDocument(answer.json);
  await expectShown(ctx, repositoryId);
  return { gone: true };
}

function toRef(repositoryId: string, release: ShownRelease): Ref {
  return {
    id: releaseIdOf(repositoryId, release.id),
    rev: digest([release]),
    title: titleOf(release),
    url: release.html_url,
    document: toDocument(release),
  };
}

const titleOf = ({ name, tag_name: tag }: ShownRelease) => (name === null || name === '' ? tag : name);

function toDocument(release: ShownRelease): FetchedDocument {
  const { tag_name: tag, html_url: url, body } = release;
  return {
    title: titleOf(release),
    markdown: [`# ${titleOf(release)}`, body ?? ''].join('\n\n').trim(),
    url,
    createdAt: release.published_at ?? release.created_at,
    metadata: {
      type: 'github_release',
      repository: new URL(url).pathname.split('/').slice(1, 3).join('/'),
      tag,
      author: release.author?.login ?? 'ghost',
    },
  };
}

/** Covers the mirrored fields alone, without counts of downloads, which change all the time. */
function digest(releases: ShownRelease[]): string {
  const shown = releases.map(({ id, name, tag_name: tag, body, draft, html_url: url }) => [
    id,
    name,
    tag,
    body,
    draft,
    url,
  ]);
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64url');
}
