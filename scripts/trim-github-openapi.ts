/**
 * Writes fixtures/servers/github/openapi.json: of GitHub's own OpenAPI description only what the GitHub
 * connector asks for, without words for people. The stand-in for GitHub is checked against it. The whole
 * description comes with the package `@octokit/openapi` (MIT), which is too large to depend on:
 *
 *     npm pack @octokit/openapi@23.0.2 && tar -xzf octokit-openapi-23.0.2.tgz package/LICENSE package/generated/api.github.com.json
 *     node scripts/trim-github-openapi.ts package
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const outputFile = new URL('../fixtures/servers/github/openapi.json', import.meta.url);

/** What the connector asks for; in what is below a repository `~` stands for it. */
const operations = [
  'GET /rate_limit',
  'GET /user',
  'GET /user/orgs',
  'GET /user/repos',
  'GET /orgs/{org}/repos',
  'GET /installation/repositories',
  'POST /app/installations/{installation_id}/access_tokens',
  'GET ~',
  'GET ~/branches',
  'GET ~/commits',
  'GET ~/compare/{basehead}',
  'GET ~/git/blobs/{file_sha}',
  'GET ~/git/ref/{ref}',
  'GET ~/git/trees/{tree_sha}',
  'GET ~/issues',
  'GET ~/issues/comments',
  'GET ~/issues/{issue_number}',
  'GET ~/issues/{issue_number}/comments',
  'GET ~/pulls/comments',
  'GET ~/pulls/{pull_number}/comments',
  'GET ~/pulls/{pull_number}/reviews',
  'GET ~/releases',
  'GET ~/releases/{release_id}',
  'GET ~/tarball/{ref}',
];

const forPeople = new Set(['description', 'example', 'examples', 'externalDocs', 'requestBody', 'summary', 'tags']);
const isLeftOut = (key: string) => forPeople.has(key) || (key.startsWith('x-') && key !== 'x-multi-segment');

/** Without what is for people; names of fields are none of it. */
function bare(value: Json, isNames = false): Json {
  if (Array.isArray(value)) return value.map((one) => bare(one));
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([key]) => isNames || !isLeftOut(key));
  return Object.fromEntries(kept.map(([key, below]) => [key, bare(below, key === 'properties' && !isNames)]));
}

function* referencesIn(value: Json): Generator<string> {
  if (value === null || typeof value !== 'object') return;
  for (const [key, below] of Object.entries(value)) {
    if (key === '$ref' && typeof below === 'string') yield below;
    else yield* referencesIn(below);
  }
}

const fieldOf = (value: Json | undefined, key: string) => (value as JsonObject | undefined)?.[key];

function pathsOf(all: Json): { [path: string]: JsonObject } {
  const paths: { [path: string]: JsonObject } = {};
  for (const operation of operations) {
    const [method = '', path = ''] = operation.replace('~', '/repos/{owner}/{repo}').split(' ');
    const found = fieldOf(fieldOf(fieldOf(all, 'paths'), path), method.toLowerCase());
    if (found === undefined) throw new Error(`The description has no ${operation}.`);
    (paths[path] ??= {})[method.toLowerCase()] = withDescriptions(found, bare(found) as JsonObject);
  }
  return paths;
}

/** OpenAPI demands a description of every response. */
function withDescriptions(whole: Json, operation: JsonObject): JsonObject {
  for (const [status, response] of Object.entries(
    fieldOf(operation, 'responses') as { [status: string]: JsonObject },
  )) {
    const description = fieldOf(fieldOf(fieldOf(whole, 'responses'), status), 'description');
    if (description !== undefined) response['description'] = description;
  }
  return operation;
}

/** Everything that is referred to, and what that refers to. */
function componentsOf(all: Json, paths: Json): { [kind: string]: JsonObject } {
  const components: { [kind: string]: JsonObject } = {};
  const open = [...referencesIn(paths)];
  for (let reference = open.pop(); reference !== undefined; reference = open.pop()) {
    const [, , kind = '', name = ''] = reference.split('/');
    const found = fieldOf(fieldOf(fieldOf(all, 'components'), kind), name);
    if (found === undefined) throw new Error(`The description has no ${reference}.`);
    if (components[kind]?.[name] !== undefined || kind === 'examples') continue;
    const trimmed = bare(found) as JsonObject;
    if (kind === 'responses') trimmed['description'] = fieldOf(found, 'description') ?? '';
    (components[kind] ??= {})[name] = trimmed;
    open.push(...referencesIn(trimmed));
  }
  return components;
}

/** One line for each path and component, so that changes can be read. */
function textOf(description: JsonObject): string {
  const block = (value: Json, depth: number): string => {
    if (depth === 0 || value === null || typeof value !== 'object' || Array.isArray(value))
      return JSON.stringify(value);
    const lines = Object.entries(value).map(([key, below]) => `${JSON.stringify(key)}: ${block(below, depth - 1)}`);
    return `{\n${lines.join(',\n')}\n}`;
  };
  const parts = Object.entries(description).map(([key, value]) => {
    const depth = key === 'components' ? 2 : 1;
    return `${JSON.stringify(key)}: ${block(value, depth)}`;
  });
  return `{\n${parts.join(',\n')}\n}\n`;
}

function trim(all: Json, licence: string): JsonObject {
  const info = fieldOf(all, 'info');
  const paths = pathsOf(all);
  return {
    openapi: fieldOf(all, 'openapi') ?? '',
    info: {
      title: 'Parts of GitHub’s OpenAPI description',
      description:
        'Taken from generated/api.github.com.json of the npm package @octokit/openapi by scripts/trim-github-openapi.ts, which left out other operations, bodies of requests, and words for people. Source: https://github.com/octokit/openapi, made from https://github.com/github/rest-api-description.',
      version: fieldOf(info, 'version') ?? '',
      license: fieldOf(info, 'license') ?? '',
      'x-license-text': licence,
    },
    paths,
    components: componentsOf(all, paths),
  };
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Say where the package @octokit/openapi lies.');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
writeFileSync(outputFile, textOf(trim(JSON.parse(read('generated/api.github.com.json')) as Json, read('LICENSE'))));
