import { firstOf } from '../../base/collections.ts';
import type { Api } from '../context.ts';
import { createDocsPage, type DocsPage } from '../docs-page.ts';

const open = { config: { public: true }, schema: { hide: true } };

/** The description of the API for people. Like the description itself it needs no key. */
export function docsRoutes(app: Api): void {
  let page: Promise<DocsPage> | null = null;
  const opened = () => {
    page ??= createDocsPage().catch((error: unknown) => {
      page = null;
      throw error;
    });
    return page;
  };

  app.get('/docs', open, async (request, reply) => {
    // What the page refers to stands below it.
    if (!firstOf(request.url.split('?', 1)).endsWith('/')) return reply.redirect('docs/', 302);
    const { html, policy } = await opened();
    return reply
      .headers({ 'content-security-policy': policy, 'referrer-policy': 'no-referrer' })
      .type('text/html; charset=utf-8')
      .send(html);
  });

  app.get('/docs/js/scalar.js', open, async (_request, reply) => {
    const { script } = await opened();
    return reply
      .headers({ 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff' })
      .type('text/javascript; charset=utf-8')
      .send(script);
  });
}
