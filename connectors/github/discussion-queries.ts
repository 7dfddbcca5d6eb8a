/** Names as in https://docs.github.com/graphql/reference/objects#discussion. */
export interface ShownDiscussion {
  id: string;
  number: number;
  title: string;
  body: string;
  url: string;
  createdAt: string;
  updatedAt: string;
  closed: boolean;
  /** Null in categories without answers. */
  isAnswered: boolean | null;
  author: { login: string } | null;
  category: { name: string };
  repository: { id: string; nameWithOwner: string };
  labels: { nodes: ({ name: string } | null)[] | null } | null;
  comments: Connection<ShownComment>;
}

export interface ShownReply {
  id: string;
  body: string;
  createdAt: string;
  isAnswer: boolean;
  author: { login: string } | null;
}

export interface ShownComment extends ShownReply {
  replies: Connection<ShownReply>;
}

export interface Connection<Node> {
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
  nodes: (Node | null)[] | null;
}

/** One line of the feed of what changed. */
export interface FeedEntry {
  number: number;
  title: string;
  url: string;
  updatedAt: string;
  comments: { totalCount: number };
}

export interface DiscussionPage<Node> {
  hasDiscussionsEnabled: boolean;
  discussions: Connection<Node> & { totalCount: number };
}

/*
 * A query costs a point for each hundred connections that it could ask for, whatever is there
 * (https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api), so that the first
 * pages of comments and replies are small; longer ones are read on by themselves.
 */
const page = 'pageInfo { hasNextPage endCursor }';
const reply = 'id body createdAt isAnswer author { login }';
const comments = (replies: number) =>
  `${page} nodes { ${reply} replies(first: ${replies}) { ${page} nodes { ${reply} } } }`;
const discussion = `id number title body url createdAt updatedAt closed isAnswered author { login } category { name }
repository { id nameWithOwner } labels(first: 100) { nodes { name } } comments(first: 40) { ${comments(20)} }`;

const discussionsBy = (order: string, fields: string) => `query ($repository: ID!, $first: Int!, $after: String) {
  node(id: $repository) { ... on Repository {
    hasDiscussionsEnabled
    discussions(first: $first, after: $after, orderBy: ${order}) { totalCount ${page} nodes { ${fields} } }
  } }
}`;

const entry = 'number title url updatedAt comments { totalCount }';
const byBeginning = '{field: CREATED_AT, direction: ASC}';

/** In the order in which they were begun, which does not change while they are read. */
export const listingQuery = discussionsBy(byBeginning, discussion);
/** The same without what was said, for those that GitHub cannot show whole. */
export const entriesQuery = discussionsBy(byBeginning, entry);
export const feedQuery = discussionsBy('{field: UPDATED_AT, direction: DESC}', entry);

/** Some discussions by their numbers, as `d0`, `d1` and so on. */
export function numbersQuery(numbers: readonly number[]): string {
  const fields = numbers.map((number, index) => `d${index}: discussion(number: ${number}) { ${discussion} }`);
  return `query ($repository: ID!) { node(id: $repository) { ... on Repository { ${fields.join('\n')} } } }`;
}

export const commentsQuery = `query ($id: ID!, $after: String) {
  node(id: $id) { ... on Discussion { more: comments(first: 100, after: $after) { ${comments(50)} } } }
}`;
export const repliesQuery = `query ($id: ID!, $after: String) {
  node(id: $id) { ... on DiscussionComment { more: replies(first: 100, after: $after) { ${page} nodes { ${reply} } } } }
}`;
