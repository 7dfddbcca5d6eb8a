/** What a program writes to get what the page shows. */

import type { SearchBody } from './types.ts';

/** One argument of a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function searchAsCurl(origin: string, body: SearchBody, key = '$MEMORYD_API_KEY'): string {
  return [
    `curl ${origin}/v4/search`,
    `-H "Authorization: Bearer ${key}"`,
    `-H 'Content-Type: application/json'`,
    `-d ${shellQuoted(JSON.stringify(body))}`,
  ].join(' \\\n  ');
}

export function searchAsCode(origin: string, body: SearchBody, key?: string): string {
  const apiKey = key === undefined ? 'process.env.MEMORYD_API_KEY' : JSON.stringify(key);
  return [
    `import Supermemory from 'supermemory';`,
    '',
    `const client = new Supermemory({ baseURL: ${JSON.stringify(origin)}, apiKey: ${apiKey} });`,
    `const { results } = await client.search(${JSON.stringify(body, null, 2)});`,
  ].join('\n');
}

export interface AssistantAccess {
  origin: string;
  key: string;
  /** What starts memoryd on the machine of the assistant. */
  command: readonly string[];
}

/** Where memoryd is not installed. */
export const fetchedCommand = ['npx', '--yes', 'memoryd'];

/** What each assistant wants to be told, by its name in the texts. */
export const assistantCode: Readonly<Record<string, (access: AssistantAccess) => string>> = {
  'claude-code': ({ origin, key }) =>
    `claude mcp add --transport http memoryd ${origin}/mcp --header "Authorization: Bearer ${key}"`,
  'claude-desktop': ({ origin, key, command: [command, ...first] }) =>
    JSON.stringify(
      {
        mcpServers: {
          memoryd: { command, args: [...first, 'mcp', '--url', origin], env: { MEMORYD_API_KEY: key } },
        },
      },
      null,
      2,
    ),
  cursor: ({ origin, key }) =>
    JSON.stringify(
      { mcpServers: { memoryd: { url: `${origin}/mcp`, headers: { Authorization: `Bearer ${key}` } } } },
      null,
      2,
    ),
  'vs-code': ({ origin, key }) =>
    JSON.stringify(
      { servers: { memoryd: { type: 'http', url: `${origin}/mcp`, headers: { Authorization: `Bearer ${key}` } } } },
      null,
      2,
    ),
  client: ({ origin, key }) => searchAsCode(origin, { q: 'what did we decide?', searchMode: 'hybrid', limit: 5 }, key),
  curl: ({ origin, key }) => searchAsCurl(origin, { q: 'what did we decide?', searchMode: 'hybrid', limit: 5 }, key),
};
