import { ask, isKind, type NotionContext } from './client.ts';
import { placeOf, type Place, type ShownPage, type ShownSource } from './shown.ts';

/** The parent of something: its place, and whether it is in the trash. */
interface Above {
  place: Place;
  inTrash: boolean;
}

/** Deeper nothing is nested, unless it goes round in a circle. */
const deepest = 100;
const remembered = 50_000;

const placesIn = (ctx: NotionContext) => ctx.session('notion:places', async () => new Map<string, Above | null>());

/** Remembers places that a list shows, so that they are not asked for again. */
export async function rememberPlace(ctx: NotionContext, shown: ShownPage | ShownSource): Promise<void> {
  if (ctx.selection.length === 0) return;
  const places = await placesIn(ctx);
  const above = { place: placeAbove(shown), inTrash: shown.in_trash };
  if (places.size < remembered) places.set(shown.id, above);
}

/** Above a data source is its database, which the page knows that the data source names. */
function placeAbove(shown: ShownPage | ShownSource): Place {
  return placeOf(shown.parent);
}

/**
 * Whether something is one of the selected pages and databases, or lies in one (`inside`); always when nothing is
 * selected. `unknown`: what lies above it is not shown to the end.
 */
export async function judge(
  ctx: NotionContext,
  shown: ShownPage | ShownSource,
): Promise<'inside' | 'outside' | 'unknown'> {
  if (ctx.selection.length === 0) return 'inside';
  const roots = new Set(ctx.selection.map(({ id }) => id));
  if (roots.has(shown.id)) return 'inside';
  let isShown = true;
  for await (const { id, above } of placesAbove(ctx, placeAbove(shown))) {
    if (roots.has(id)) return 'inside';
    isShown = above !== null;
  }
  return isShown ? 'outside' : 'unknown';
}

/** A page of which a parent is in the trash is not shown any more, although it says of itself that it is. */
export async function isUnderTrash(ctx: NotionContext, page: ShownPage): Promise<boolean> {
  for await (const { above } of placesAbove(ctx, placeOf(page.parent))) if (above?.inTrash) return true;
  return false;
}

async function* placesAbove(ctx: NotionContext, first: Place): AsyncGenerator<{ id: string; above: Above | null }> {
  const seen = new Set<string>();
  for (let place = first; place.id !== '' && !seen.has(place.id) && seen.size < deepest;) {
    seen.add(place.id);
    const above = await findAbove(ctx, place);
    yield { id: place.id, above };
    if (above === null) return;
    place = above.place;
  }
}

/** Null for what is not shared, where the way up ends. */
async function findAbove(ctx: NotionContext, place: Place): Promise<Above | null> {
  const places = await placesIn(ctx);
  const known = places.get(place.id);
  if (known !== undefined) return known;
  const above = await readAbove(ctx, place).catch((error: unknown) => {
    if (isKind(error, 'gone', 'forbidden')) return null;
    throw error;
  });
  if (places.size < remembered) places.set(place.id, above);
  return above;
}

async function readAbove(ctx: NotionContext, { type, id }: Place): Promise<Above | null> {
  if (type === 'other') return null;
  const shown = await ask(ctx, async (notion): Promise<object> => {
    if (type === 'page') return notion.pages.retrieve({ page_id: id });
    if (type === 'source') return notion.dataSources.retrieve({ data_source_id: id });
    if (type === 'database') return notion.databases.retrieve({ database_id: id });
    return notion.blocks.retrieve({ block_id: id });
  });
  const { parent, in_trash: inTrash } = shown as { parent?: { type?: string }; in_trash?: boolean };
  return { place: placeOf(parent), inTrash: inTrash === true };
}
