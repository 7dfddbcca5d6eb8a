import fastify from 'fastify';
import { createHash } from 'node:crypto';
import { firstOf } from '../../base/collections.ts';
import type { Api } from '../request.ts';

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

/** Bytes that all answers share: nobody needs a key for them, and who never reads them must not fill the memory. */
interface DocsPage {
  html: Buffer;
  /** The one script that the page loads. */
  script: Buffer;
  /** Value of `content-security-policy`: the page may load and call nothing but this daemon. */
  policy: string;
}

const prefix = '/docs';

/** From the page, so that they are found behind a proxy that adds a path. */
const sources = [
  { title: 'All', slug: 'all', url: '../openapi.json', default: true },
  { title: 'Namespaces (v5)', slug: 'v5', url: '../v5/openapi.json' },
];

/** Everything that would leave the machine is off: fonts, telemetry, the vendor's proxy, assistant and sharing. */
const configuration = {
  pageTitle: 'memoryd API',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
} as const;

/**
 * Makes the page that shows the API to people. Its library brings the script in memory and 40 MB with
 * it, so it is loaded for the first reader and not when the daemon starts.
 */
async function createDocsPage(): Promise<DocsPage> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const app = fastify();
  try {
    await app.register(reference, { routePrefix: prefix, configuration: { ...configuration, sources } });
    const [html, script] = await Promise.all([app.inject(`${prefix}/`), app.inject(`${prefix}/js/scalar.js`)]);
    return { html: html.rawPayload, script: script.rawPayload, policy: policyFor(html.body) };
  } finally {
    await app.close();
  }
}

/** Inline scripts are allowed by their hashes, so that nothing that gets into the page is run. */
function policyFor(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([^]*?)<\/script>/g)].map(([, text]) => text ?? '');
  const hashes = inline.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`);
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
