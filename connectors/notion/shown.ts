import type { DataSourceObjectResponse, PageObjectResponse, RichTextItemResponse } from '@notionhq/client';

/** A page as lists and reads show it. */
export type ShownPage = PageObjectResponse;
export type ShownSource = DataSourceObjectResponse;
export type ShownProperty = PageObjectResponse['properties'][string];

export const isPage = (entry: { object?: string }): entry is ShownPage =>
  entry.object === 'page' && 'last_edited_time' in entry && 'properties' in entry;

export const isSource = (entry: { object?: string }): entry is ShownSource =>
  entry.object === 'data_source' && 'parent' in entry;

export const plainText = (parts: readonly Pick<RichTextItemResponse, 'plain_text'>[]): string =>
  parts.map((part) => part.plain_text).join('');

/** Every page has just one property of the type `title`, whatever its name. */
export function titleOf({ properties }: ShownPage): string {
  for (const property of Object.values(properties)) {
    if (property.type === 'title') return plainText(property.title).trim();
  }
  return '';
}

export interface Place {
  type: 'page' | 'block' | 'database' | 'source' | 'workspace' | 'other';
  id: string;
}

const nowhere: Place = { type: 'workspace', id: '' };

/** The place of a page, a data source or a database. */
export function placeOf(parent: { type?: string; [key: string]: unknown } | undefined): Place {
  const id = (name: string) => (typeof parent?.[name] === 'string' ? parent[name] : '');
  if (parent === undefined || parent.type === 'workspace') return nowhere;
  if (parent.type === 'page_id') return { type: 'page', id: id('page_id') };
  if (parent.type === 'block_id') return { type: 'block', id: id('block_id') };
  if (parent.type === 'data_source_id') return { type: 'source', id: id('data_source_id') };
  if (parent.type === 'database_id') return { type: 'database', id: id('database_id') };
  return { type: 'other', id: '' };
}

/** The data source of a page that is in one. */
export const sourceIdOf = (page: ShownPage): string | undefined => {
  const place = placeOf(page.parent);
  return place.type === 'source' ? place.id : undefined;
};
