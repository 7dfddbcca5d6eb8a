import { once } from 'node:events';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { MemorydError } from '../base/errors.ts';
import { createMcpServer, type McpServerOptions } from './server.ts';

export interface McpRequest extends McpServerOptions {
  /** One JSON-RPC message. */
  message: unknown;
  /** The client's header `mcp-protocol-version`. */
  protocolVersion: string | undefined;
}

/**
 * Answers one message with JSON text, or null when it needs no answer. Nothing is kept between messages,
 * so any process can answer the next one. Throws `invalid_request` for what is no message of the
 * protocol, and the signal's reason when the client goes away.
 */
export async function answerMessage({ message, protocolVersion, ...options }: McpRequest): Promise<string | null> {
  const { signal } = options.call;
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = createMcpServer(options);
  await server.connect(transport);
  try {
    const answered = transport.handleRequest(requestOf(protocolVersion), { parsedBody: message });
    const response = await Promise.race([answered, aborted(signal)]);
    const text = await response.text();
    if (!response.ok) throw new MemorydError('invalid_request', problemOf(text));
    return text === '' ? null : text;
  } finally {
    await server.close();
  }
}

/** The transport's complaint, which it gives as JSON-RPC. */
function problemOf(text: string): string {
  const { error } = JSON.parse(text) as { error: { message: string } };
  return error.message;
}

/** The transport reads only the headers of it: the message is parsed, and JSON is the only answer. */
function requestOf(protocolVersion: string | undefined): Request {
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(protocolVersion !== undefined && { 'mcp-protocol-version': protocolVersion }),
    },
  });
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}
