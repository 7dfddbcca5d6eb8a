import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Bytes that all answers share: nobody needs a key for them, and who never reads them must not fill the memory. */
interface PageFile {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
}

interface BuiltPage {
  /** Times of the page and of the folder beside it: a build writes one after the other. */
  builtAt: string;
  page: PageFile;
  /** By name. Only these are served, whatever a path says. */
  assets: ReadonlyMap<string, PageFile>;
}

export interface ConsolePage {
  /** Null where it is not built. */
  page(): Promise<PageFile | null>;
  asset(name: string): Promise<PageFile | null>;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/**
 * The output of `npm run build:console` in a folder, read into memory at the first request and again when it was built
 * anew. The folder need not exist.
 */
export function createConsolePage(folder: string): ConsolePage {
  const index = join(folder, 'index.html');
  const assetFolder = join(folder, 'console/assets');
  let known: BuiltPage | null = null;

  async function current(): Promise<BuiltPage | null> {
    const found = await Promise.all([stat(index), stat(assetFolder)]).catch(() => null);
    if (found === null) return null;
    const builtAt = found.map(({ mtimeMs }) => mtimeMs).join(' ');
    if (known?.builtAt !== builtAt) known = { builtAt, ...(await readPage(index, assetFolder)) };
    return known;
  }

  return {
    page: async () => (await current())?.page ?? null,
    asset: async (name) => (await current())?.assets.get(name) ?? null,
  };
}

async function readPage(index: string, assetFolder: string): Promise<Omit<BuiltPage, 'builtAt'>> {
  const names = (await readdir(assetFolder)).filter((name) => extname(name) in types);
  const assets = await Promise.all(names.map(async (name) => [name, await readPart(join(assetFolder, name))] as const));
  return { page: await readPart(index), assets: new Map(assets) };
}

async function readPart(path: string): Promise<PageFile> {
  const bytes = await readFile(path);
  return { type: types[extname(path)]!, bytes, gzipped: await promisify(gzip)(bytes, { level: 9 }) };
}

/** Nothing inline and nothing from elsewhere is run, loaded or called. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const headers = { 'content-security-policy': policy, 'cross-origin-resource-policy': 'same-origin' };

export function sendPageFile(
  request: FastifyRequest<any, any, any, any, any, any, any>,
  reply: FastifyReply<any, any, any, any, any, any, any, any>,
  file: PageFile,
): unknown {
  const isGzipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  reply.headers({ ...headers, ...(isGzipped && { 'content-encoding': 'gzip' }) }).type(file.type);
  return reply.send(isGzipped ? file.gzipped : file.bytes);
}
