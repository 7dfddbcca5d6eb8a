import { present } from '../base/collections.ts';
import type { Command } from 'commander';
import type { ContainerAnswer } from './client.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addClientOptions, wholeNumber, type ClientOptions } from './options.ts';

interface QuotaOptions extends ClientOptions {
  documents?: number;
  bytes?: number;
  requestsPerMinute?: number;
  none?: boolean;
}

const most = Number.MAX_SAFE_INTEGER;

export function addQuotaCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('quota')
    .description('Show or set what a namespace may hold, and how often it may be asked.')
    .argument('<namespace>', 'its name')
    .option('--documents <count>', 'documents that it may hold, mirrored ones included', wholeNumber(1, most))
    .option('--bytes <count>', 'bytes of its documents', wholeNumber(1, most))
    .option('--requests-per-minute <count>', 'requests that name it', wholeNumber(1, 1_000_000))
    .option('--none', 'take all limits away, before others are set');
  addClientOptions(command, [
    { command: 'memoryd quota user_mira', purpose: 'what holds' },
    { command: 'memoryd quota user_mira --documents 10000 --bytes 500000000', purpose: 'as much and no more' },
    { command: 'memoryd quota user_mira --none', purpose: 'no limits' },
  ]);
  command.action(async (namespace: string, options: QuotaOptions) => {
    const client = await openClient(options, context);
    const quota = changeOf(options);
    if (Object.keys(quota).length > 0) await client.setQuota(namespace, quota);
    const container = await client.container(namespace);
    if (options.json) return printJson(context.stdout, { quota: container.quota, usage: container.usage });
    for (const line of linesOf(container)) printLine(context.stdout, line);
  });
}

function changeOf({ none = false, documents, bytes, requestsPerMinute }: QuotaOptions) {
  return {
    ...(none && { documents: null, bytes: null, requestsPerMinute: null }),
    ...present({ documents, bytes, requestsPerMinute }),
  };
}

function linesOf({ quota, usage }: ContainerAnswer): string[] {
  const held = (what: 'documents' | 'bytes') => `${usage ? `${usage[what]} of ` : ''}${quota[what] ?? 'any number'}`;
  return [
    `documents            ${held('documents')}`,
    `bytes                ${held('bytes')}`,
    `requests per minute  ${quota.requestsPerMinute ?? 'any number'}`,
  ];
}
