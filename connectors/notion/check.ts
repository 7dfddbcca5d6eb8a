import { probe, sourceMissing, type CheckResult } from 'memoryd/connector';
import { ask, type NotionContext } from './client.ts';
import { search } from './search.ts';

/** Whether Notion takes the token, and whether anything is shared with the integration. */
export async function checkNotion(ctx: NotionContext): Promise<CheckResult[]> {
  const credential = await probe('credential', 'Notion accepts the token', async () => {
    const me = await ask(ctx, (notion) => notion.users.me({}));
    const { workspace_name: workspace } = (me as { bot?: { workspace_name?: string | null } }).bot ?? {};
    return workspace ? `The workspace is ${workspace}.` : undefined;
  });
  if (credential.status !== 'ok') return [credential];
  const pages = await probe('pages', 'Something is shared with the integration', async () => {
    const found = await search(ctx, {});
    if (found.bare > 0) {
      throw sourceMissing(
        'Notion shows pages by their ids alone.',
        'Give the integration the capability Read content.',
      );
    }
    if (found.pages.length + found.sources.length === 0) {
      throw sourceMissing(
        'The integration sees no page.',
        'In Notion open a page, then ••• → Connections, and add the integration. Pages below it come with it. What was shared a moment ago may take some minutes to show.',
      );
    }
    return undefined;
  });
  return [credential, pages];
}
