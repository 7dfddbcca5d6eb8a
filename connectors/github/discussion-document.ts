import { createHash } from 'node:crypto';
import type { FetchedDocument, Ref } from 'memoryd/connector';
import type { FeedEntry, ShownDiscussion } from './discussion-queries.ts';
import type { Remark } from './discussion-remarks.ts';
import { discussionIdOf } from './place.ts';

type Document = FetchedDocument & { title: string; url: string };

/** The revision is a digest of what is mirrored: GitHub changes the time of a discussion not for every edit in it. */
export function toRef(repositoryId: string, discussion: ShownDiscussion, remarks: Remark[]): Ref {
  const document = toDocument(discussion, remarks);
  return {
    id: discussionIdOf(repositoryId, discussion.number),
    rev: revisionOf(document),
    title: document.title,
    url: document.url,
    updatedAt: discussion.updatedAt,
    document,
  };
}

/** One that GitHub could not show whole: reading it by itself tells what it holds, or why it cannot be read. */
export function toBareRef(repositoryId: string, { number, title, url, updatedAt }: FeedEntry): Ref {
  return { id: discussionIdOf(repositoryId, number), rev: `unread ${updatedAt}`, title, url, updatedAt };
}

/** A reaction or a pin changes the time as well. */
function revisionOf({ updatedAt: _, ...mirrored }: FetchedDocument): string {
  return createHash('sha256').update(JSON.stringify(mirrored)).digest('base64url');
}

/** The discussion with everything that was said in it, in the order of time. */
function toDocument(discussion: ShownDiscussion, remarks: Remark[]): Document {
  const { title, body, url, createdAt, updatedAt } = discussion;
  const said = remarks
    .filter((remark) => remark.body.trim() !== '')
    .toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
  const texts = [`# ${title}`, body, ...said.map(textOf)];
  return {
    title,
    markdown: texts.filter((text) => text.trim() !== '').join('\n\n'),
    url,
    createdAt,
    updatedAt,
    metadata: metadataOf(discussion),
  };
}

function textOf({ author, body, createdAt, isAnswer, to }: Remark): string {
  const notes = [...(isAnswer ? ['answer'] : []), ...(to ? [`reply to ${nameOf(to.author)}`] : [])];
  const noted = notes.length > 0 ? ` (${notes.join(', ')})` : '';
  return `## ${nameOf(author)}${noted}, ${createdAt}\n\n${body}`;
}

/** Accounts that were deleted are shown by this name. */
const nameOf = (author: { login: string } | null) => author?.login ?? 'ghost';

function metadataOf(discussion: ShownDiscussion): Record<string, string | number | boolean | string[]> {
  return {
    type: 'github_discussion',
    repository: discussion.repository.nameWithOwner,
    number: discussion.number,
    state: discussion.closed ? 'closed' : 'open',
    category: discussion.category.name,
    answered: discussion.isAnswered === true,
    author: nameOf(discussion.author),
    labels: (discussion.labels?.nodes ?? []).flatMap((label) => (label ? [label.name] : [])),
  };
}
