/**
 * Writes fixtures/servers/notion/openapi.json: of Notion's own OpenAPI description only what the Notion connector
 * asks for, without words for people. The stand-in for Notion is checked against it. The whole description comes with
 * the package `@notionhq/notion-mcp-server` (MIT), which is a program of its own and is not depended on:
 *
 *     npm pack @notionhq/notion-mcp-server@2.5.2 && tar -xzf notionhq-notion-mcp-server-2.5.2.tgz
 *     node scripts/trim-notion-openapi.ts package
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const outputFile = new URL('../fixtures/servers/notion/openapi.json', import.meta.url);

const operations = [
  'GET /v1/users',
  'GET /v1/users/me',
  'POST /v1/search',
  'GET /v1/blocks/{block_id}',
  'GET /v1/blocks/{block_id}/children',
  'GET /v1/comments',
  'GET /v1/pages/{page_id}',
  'GET /v1/pages/{page_id}/markdown',
  'GET /v1/pages/{page_id}/properties/{property_id}',
  'GET /v1/data_sources/{data_source_id}',
  'POST /v1/data_sources/{data_source_id}/query',
  'GET /v1/databases/{database_id}',
];

const forPeople = new Set([
  'description',
  'example',
  'examples',
  'externalDocs',
  'summary',
  'tags',
  'security',
  'deprecated',
]);

/** Without what is for people; names of fields are none of it. */
function bare(value: Json, isNames = false): Json {
  if (Array.isArray(value)) return value.map((one) => bare(one));
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([key]) => isNames || !forPeople.has(key));
  return Object.fromEntries(kept.map(([key, below]) => [key, bare(below, key === 'properties' && !isNames)]));
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Give the folder of the unpacked package.');
const read = (path: string) => readFileSync(join(folder, path), 'utf8');
const whole = JSON.parse(read('scripts/notion-openapi.json')) as Record<string, JsonObject>;
const { version } = JSON.parse(read('package.json')) as { version: string };

const paths: Record<string, JsonObject> = {};
for (const operation of operations) {
  const [method = '', path = ''] = operation.toLowerCase().split(' ');
  const found = (whole['paths']?.[path] as JsonObject | undefined)?.[method];
  if (found === undefined) throw new Error(`The description has no ${operation}.`);
  paths[path] = { ...paths[path], [method]: bare(found) };
}

const components = whole['components'] as Record<string, JsonObject>;
const description = {
  openapi: whole['openapi'],
  info: {
    title: 'Parts of Notion’s OpenAPI description',
    description:
      'Taken from scripts/notion-openapi.json of the npm package @notionhq/notion-mcp-server by scripts/trim-notion-openapi.ts, which left out other operations and words for people.',
    version,
    license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT' },
    'x-license-text': read('LICENSE').trim(),
  },
  paths,
  components: {
    parameters: bare(components['parameters']!, true),
    schemas: bare({ sortObject: components['schemas']!['sortObject']! }, true),
  },
};
writeFileSync(outputFile, `${JSON.stringify(description, null, 1)}\n`);
