import type { Ref } from 'memoryd/connector';
import type { NotionContext } from './client.ts';
import { rememberTitle } from './names.ts';
import { toRef } from './page-ref.ts';
import { judge, rememberPlace } from './scope.ts';
import type { Found } from './search.ts';
import type { ShownPage } from './shown.ts';

/** Splits shown pages into mirrored ones and the ids of the others, and separates the certain ones. */
export async function refsOf(
  ctx: NotionContext,
  found: Pick<Found, 'pages' | 'sources'>,
): Promise<{ refs: Ref[]; left: string[]; outside: string[] }> {
  for (const shown of [...found.pages, ...found.sources]) await rememberPlace(ctx, shown);
  const refs: Ref[] = [];
  const left: string[] = [];
  const outside: string[] = [];
  for (const page of found.pages) {
    await rememberTitle(ctx, page);
    const place = page.in_trash ? 'outside' : await judge(ctx, page);
    if (place === 'inside') refs.push(toRef(page, ctx.now()));
    else left.push(page.id);
    if (place === 'outside') outside.push(page.id);
  }
  return { refs, left, outside };
}

/** Pages that this run has listed. It only saves requests and repetitions: a run that goes on after a crash has a new one. */
export interface Walk {
  /** Ids of pages that were listed. */
  seen: Set<string>;
  /** Pages that others name as their parent and that were not listed. */
  parents: Set<string>;
}

export const walkOf = (ctx: NotionContext): Promise<Walk> =>
  ctx.session('notion:walk', async () => ({ seen: new Set<string>(), parents: new Set<string>() }));

/** Pages that were not listed yet in this run. */
export function freshOnes(walk: Walk, pages: readonly ShownPage[]): ShownPage[] {
  const fresh = pages.filter(({ id }) => !walk.seen.has(id));
  for (const { id, parent } of fresh) {
    walk.seen.add(id);
    walk.parents.delete(id);
    if (parent.type === 'page_id' && !walk.seen.has(parent.page_id)) walk.parents.add(parent.page_id);
  }
  return fresh;
}
