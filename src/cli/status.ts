import type { Command } from 'commander';
import { slownessOf } from '../base/checks.ts';
import type { Client, ServiceStatus } from './client.ts';
import { connectionStates, connectionTable, type ConnectionState } from './connection-table.ts';
import { paint, printJson, printLine, roomOf, type CommandContext, type Screen } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, type ClientOptions } from './options.ts';
import { duration, localTime } from './text.ts';

export function addStatusCommand(program: Command, context: CommandContext): void {
  const command = program.command('status').description('Show what the daemon does and how far it is.');
  addClientOptions(command, [
    { command: 'memoryd status', purpose: 'documents by state, connections, model' },
    { command: 'memoryd status --json | jq .documents', purpose: 'for scripts' },
  ]);
  command.action(async (options: ClientOptions) => {
    const client = await openClient(options, context);
    const status = await client.status();
    if (options.json) return printJson(context.stdout, status);
    await printStatus(client, status, context.stdout);
  });
}

async function printStatus(client: Client, status: ServiceStatus, screen: Screen): Promise<void> {
  const connections = await connectionStates(client, await client.connections());
  for (const line of formatStatus(status, connections, client.url, screen)) printLine(screen, line);
}

export function formatStatus(
  status: ServiceStatus,
  connections: readonly ConnectionState[],
  url: string,
  screen: Screen,
): string[] {
  const label = (text: string) => paint(screen, 'dim', text.padEnd(11));
  const { embedder, languageModel, storage, queue } = status;
  return [
    `${paint(screen, 'bold', `memoryd ${status.version}`)} at ${url}, up for ${duration(status.uptimeMs)}`,
    `${label('storage')}${storage.engine}${storage.dataDir ? ` in ${storage.dataDir}` : ''}`,
    `${label('queue')}${queue.kind}, role ${status.role}`,
    `${label('model')}${embedder.id} on ${embedder.runtime}, ${embedder.state}`,
    ...(slownessOf(embedder.runtime)
      ? [`${label('')}slow (WebAssembly); \`memoryd doctor\` says how to mend that`]
      : []),
    ...(languageModel ? [`${label('language')}${languageModelLine(languageModel)}`] : []),
    `${label('documents')}${documentCounts(status)}`,
    ...(status.backups ? [`${label('backups')}${backupLine(status.backups)}`] : []),
    '',
    ...(connections.length > 0 ? connectionTable(connections, roomOf(screen)) : ['Nothing is connected.']),
  ];
}

/** `last 2026-03-01 03:00, next 2026-03-02 03:00`. */
function backupLine({ lastAt, nextAt, failure, isOverdue }: NonNullable<ServiceStatus['backups']>): string {
  const times = `last ${localTime(lastAt)}, next ${localTime(nextAt)}`;
  if (failure) return `${times}, failed ${localTime(failure.at)}: ${failure.reason}`;
  return isOverdue ? `${times}, overdue` : times;
}

/** `openai-compatible:llama3.2, ready, 1200 tokens today`. */
function languageModelLine({ id, state, tokensToday }: NonNullable<ServiceStatus['languageModel']>): string {
  return `${id}, ${state}, ${tokensToday} tokens today`;
}

/** `118 done, 3 waiting (2 found by words), 1 failed`; what is on its way counts as waiting. */
function documentCounts({ documents, foundByWords = 0 }: ServiceStatus): string {
  const { done = 0, failed = 0, ...others } = documents;
  const waiting = Object.values(others).reduce((sum, count) => sum + count, 0);
  const found = foundByWords > 0 ? ` (${foundByWords} found by words)` : '';
  return `${done} done, ${waiting} waiting${found}, ${failed} failed`;
}
