import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Command } from 'commander';
import { printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { reportFailure } from './exit.ts';
import { addDaemonOptions, addExamples, type DaemonOptions } from './options.ts';

export function addMcpCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('mcp')
    .description('Give a desktop client memory: the model context protocol on standard input and output.')
    .addHelpText(
      'after',
      '\nThe daemon must run. Clients of the protocol start this command themselves; see docs/mcp.md.',
    );
  addDaemonOptions(command);
  addExamples(command, [
    { command: 'memoryd mcp --data-dir ~/.memoryd', purpose: 'what a client on this machine is told to start' },
    { command: 'MEMORYD_API_KEY=sm_… memoryd mcp --url https://memory.example.com', purpose: 'for another machine' },
  ]);
  command.action((options: DaemonOptions) => serve(options, context));
}

/** Errors of the server's making, as JSON-RPC numbers them. */
const internalError = -32603;

/**
 * Hands each message to the daemon and its answer back, until the input ends. Nothing but the
 * protocol is written to standard output.
 */
async function serve(options: DaemonOptions, context: CommandContext): Promise<void> {
  // A daemon that is missing or refuses the key is told now, as every other command does.
  await (await openClient(options, context)).session();
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const transport = new StdioServerTransport();
  const underWay = new Set<Promise<void>>();
  const ended = Promise.withResolvers<void>();
  Object.assign(transport, {
    onclose: () => ended.resolve(),
    onerror: (error: Error) => printLine(context.stderr, `memoryd mcp: ${error.message}`),
    onmessage(message: JSONRPCMessage) {
      const work = relay(message).finally(() => underWay.delete(work));
      underWay.add(work);
    },
  });
  process.stdin.once('end', () => ended.resolve()).once('close', () => ended.resolve());
  context.signal.addEventListener('abort', () => ended.resolve(), { once: true });
  await transport.start();
  await ended.promise;
  await Promise.all(underWay);
  await transport.close();

  async function relay(message: JSONRPCMessage): Promise<void> {
    const answer = await answerTo(message, options, context);
    if (answer) await transport.send(answer);
  }
}

/**
 * The daemon is looked up for each message: one that was started again has another key, and perhaps
 * another address.
 */
async function answerTo(
  message: JSONRPCMessage,
  options: DaemonOptions,
  context: CommandContext,
): Promise<JSONRPCMessage | null> {
  try {
    const client = await openClient(options, context);
    return (await client.mcp(message)) as JSONRPCMessage | null;
  } catch (error) {
    const { message: what, details } = reportFailure(error);
    const text = details === null ? what : `${what} ${details}`;
    if ('method' in message && 'id' in message) {
      return { jsonrpc: '2.0', id: message.id, error: { code: internalError, message: text } };
    }
    printLine(context.stderr, `memoryd mcp: ${text}`);
    return null;
  }
}
