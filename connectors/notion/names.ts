import type { RichTextItemResponse } from '@notionhq/client';
import { transient, type MetadataValue } from 'memoryd/connector';
import { ask, isKind, listIn, type NotionContext } from './client.ts';
import type { Wants } from './page-ref.ts';
import { valueOf } from './properties.ts';
import { isPage, plainText, titleOf, type ShownPage } from './shown.ts';

/** Related pages whose titles are asked for; of the rest only their number is told. */
const mostTitles = 100;
const mostPages = 40;
const rememberedTitles = 20_000;

const titlesIn = (ctx: NotionContext) => ctx.session('notion:titles', async () => new Map<string, string>());

/** Titles that a list shows anyway cost nothing when another page names them. */
export async function rememberTitle(ctx: NotionContext, page: ShownPage): Promise<void> {
  const titles = await titlesIn(ctx);
  if (titles.size < rememberedTitles || titles.has(page.id)) titles.set(page.id, titleOf(page));
}

/** The title of a page; undefined when the integration may not see it. */
async function findTitle(ctx: NotionContext, id: string): Promise<string | undefined> {
  const titles = await titlesIn(ctx);
  if (!titles.has(id)) {
    const title = await ask(ctx, (notion) => notion.pages.retrieve({ page_id: id })).then(
      (page) => (isPage(page) ? titleOf(page) : ''),
      (error: unknown) => {
        if (isKind(error, 'gone', 'forbidden')) return '';
        throw error;
      },
    );
    if (titles.size < rememberedTitles) titles.set(id, title);
    return title || undefined;
  }
  return titles.get(id) || undefined;
}

/** Names by the id of the user: everybody at once, as soon as one is asked for. */
async function users(ctx: NotionContext): Promise<Map<string, string>> {
  const session = await ctx.session('notion:users', async () => ({
    names: undefined as Promise<Map<string, string>> | undefined,
  }));
  session.names ??= readUsers(ctx);
  return session.names.catch((error: unknown) => {
    session.names = undefined;
    throw error;
  });
}

async function readUsers(ctx: NotionContext): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  let cursor: string | undefined;
  try {
    do {
      const from = cursor;
      const answer = await ask(ctx, (notion) =>
        notion.users.list({ page_size: 100, ...(from && { start_cursor: from }) }),
      );
      const { results, next } = listIn(answer);
      for (const { id, name } of results) if (name) names.set(id, name);
      cursor = next;
    } while (cursor !== undefined);
  } catch (error) {
    // The capability to read users is not needed for anything else.
    if (!isKind(error, 'forbidden')) throw error;
  }
  return names;
}

export const nameOf = async (ctx: NotionContext, id: string): Promise<string | undefined> => (await users(ctx)).get(id);

/** The properties of a page with the names of people and the titles of related pages in them. */
export async function withNames(
  ctx: NotionContext,
  pageId: string,
  { values, wants }: { values: Record<string, MetadataValue>; wants: Pick<Wants, 'people' | 'pages' | 'more'> },
): Promise<Record<string, MetadataValue>> {
  const named = { ...values };
  const { people, pages } = { people: { ...wants.people }, pages: { ...wants.pages } };
  for (const [name, id] of Object.entries(wants.more)) {
    const whole = await readProperty(ctx, pageId, id);
    if (whole.people.length > 0) people[name] = whole.people;
    if (whole.pages.length > 0) pages[name] = whole.pages;
    if (whole.text !== '') named[name] = whole.text;
  }
  for (const [name, ids] of Object.entries(people)) {
    const known = await users(ctx);
    const found = ids.flatMap((id) => known.get(id) ?? []);
    if (found.length > 0) named[name] = found.length === 1 && !Array.isArray(values[name]) ? found[0]! : found;
  }
  for (const [name, ids] of Object.entries(pages)) {
    const titles = await titlesOf(ctx, ids);
    if (titles.length > 0) named[name] = titles;
  }
  return named;
}

async function titlesOf(ctx: NotionContext, ids: readonly string[]): Promise<string[]> {
  const titles: string[] = [];
  for (const id of ids.slice(0, mostTitles)) {
    const title = await findTitle(ctx, id);
    if (title !== undefined) titles.push(title);
  }
  const rest = ids.length - mostTitles;
  return rest > 0 ? [...titles, `and ${rest} more`] : titles;
}

type PropertyItem = { type: string; [key: string]: unknown };

/** Entries of properties that have more of them than a page shows. https://developers.notion.com/reference/retrieve-a-page-property */
async function readProperty(
  ctx: NotionContext,
  pageId: string,
  propertyId: string,
): Promise<{ people: string[]; pages: string[]; text: string }> {
  const whole = { people: [] as string[], pages: [] as string[], text: '' };
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const from = cursor;
    const answer = await ask(ctx, (notion) =>
      notion.pages.properties.retrieve({
        page_id: pageId,
        property_id: propertyId,
        page_size: 100,
        ...(from && { start_cursor: from }),
      }),
    );
    if (answer.object !== 'list') throw transient('Notion answered one entry where a list was asked for.');
    const { results, next } = listIn(answer);
    for (const item of results as unknown as PropertyItem[]) addItem(whole, item);
    if (next === undefined) break;
    cursor = next;
  }
  return whole;
}

function addItem(whole: { people: string[]; pages: string[]; text: string }, item: PropertyItem): void {
  const value = item[item.type] as { id?: string } | undefined;
  if (item.type === 'relation' && value?.id) whole.pages.push(value.id);
  else if (item.type === 'people' && value?.id) whole.people.push(value.id);
  else if (item.type === 'rich_text' && value) whole.text += plainText([value as RichTextItemResponse]);
  else whole.text ||= String(valueOf(item) ?? '');
}
