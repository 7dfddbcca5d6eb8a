import { MemorydError } from '../../base/errors.ts';
import { sendPageFile, type ConsolePage } from '../console-page.ts';
import type { Api } from '../context.ts';

/** Scripts and styles of the console's page. Their names change with their content. */
export function consoleAssetRoutes(app: Api, page: ConsolePage): void {
  app.get<{ Params: { name: string } }>(
    '/console/assets/:name',
    { config: { public: true }, schema: { hide: true } },
    async (request, reply) => {
      const file = await page.asset(request.params.name);
      if (!file) throw new MemorydError('not_found', 'Not found');
      reply.headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' });
      return sendPageFile(request, reply, file);
    },
  );
}
