import { transient } from 'memoryd/connector';
import type { GithubContext } from './client.ts';
import {
  commentsQuery,
  repliesQuery,
  type Connection,
  type ShownComment,
  type ShownDiscussion,
  type ShownReply,
} from './discussion-queries.ts';
import { ask } from './graphql.ts';

/** A comment, or a reply to one. */
export interface Remark extends ShownReply {
  /** The comment that it replies to. */
  to?: ShownReply;
}

/** Everything that was said in a discussion; what did not fit into the first answer is read on. */
export async function remarksOf(ctx: GithubContext, discussion: ShownDiscussion): Promise<Remark[]> {
  const comments = await readOn<ShownComment>(ctx, commentsQuery, discussion.id, discussion.comments);
  const remarks: Remark[] = [];
  for (const comment of comments) {
    const replies = await readOn<ShownReply>(ctx, repliesQuery, comment.id, comment.replies);
    remarks.push(comment, ...replies.map((reply) => ({ ...reply, to: comment })));
  }
  return remarks;
}

async function readOn<Node>(ctx: GithubContext, text: string, id: string, first: Connection<Node>): Promise<Node[]> {
  const nodes = wholePage(first);
  for (let page = first; page.pageInfo.hasNextPage;) {
    const { data } = await ask<{ node: { more: Connection<Node> } | null }>(ctx, text, {
      id,
      after: page.pageInfo.endCursor,
    });
    if (!data.node) throw transient('A discussion was changed while it was read.');
    page = data.node.more;
    nodes.push(...wholePage(page));
  }
  return nodes;
}

/** Throws for a page from which GitHub left something out: it must not be taken for deleted. */
export function wholePage<Node>({ nodes, pageInfo }: Connection<Node>): Node[] {
  const whole = (nodes ?? [null]).filter((node) => node !== null);
  if (whole.length !== nodes?.length || (pageInfo.hasNextPage && pageInfo.endCursor === null)) {
    throw transient('GitHub left something out of a page.');
  }
  return whole;
}
