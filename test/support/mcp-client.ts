import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

export interface McpClient {
  client: Client;
  /** The official client checks the structured content against the schema of the tool. */
  tool(name: string, given?: Record<string, unknown>): Promise<{ text: string; structured: any; isError: boolean }>;
  close(): Promise<void>;
}

export async function openMcpClient(transport: Transport): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  // Knows the schemas of answers from now on.
  await client.listTools();
  return {
    client,
    async tool(name, given = {}) {
      const result = (await client.callTool({ name, arguments: given })) as CallToolResult;
      const [content] = result.content;
      const text = content?.type === 'text' ? content.text : '';
      return { text, structured: result.structuredContent, isError: result.isError ?? false };
    },
    close: () => client.close(),
  };
}

export function openMcpOverHttp(url: string, key: string): Promise<McpClient> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return openMcpClient(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
}
