import type { Command } from 'commander';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { KeyAnswer, KeyChange, KeyQuota } from './key-answer.ts';
import {
  addDaemonOptions,
  addExamples,
  addJsonOption,
  wholeNumber,
  type DaemonOptions,
  type JsonOption,
} from './options.ts';

/** What these options say. */
export interface Limits {
  requestsPerMinute?: number;
  documents?: number;
  bytes?: number;
}

interface ChangeOptions extends DaemonOptions, JsonOption, Limits {
  name?: string;
  /** False: `--no-limits`. */
  limits: boolean;
}

const most = Number.MAX_SAFE_INTEGER;

/** Options that set limits of a key. */
export function addLimitOptions(command: Command): Command {
  return command
    .option('--requests-per-minute <count>', 'requests that it may make', wholeNumber(1, 10_000))
    .option(
      '--documents <count>',
      'documents that it may hold: those whose content it wrote last',
      wholeNumber(1, most),
    )
    .option('--bytes <count>', 'bytes of these documents', wholeNumber(1, most));
}

/** `memoryd keys change`. */
export function addChangeKeyCommand(keys: Command, context: CommandContext): void {
  const command = keys
    .command('change')
    .description('Change the name and the limits of a key. Without options it shows what holds.')
    .argument('<id>', 'id of the key, as `memoryd keys list` shows it')
    .option('--name <name>', 'what it is for');
  addLimitOptions(command).option('--no-limits', 'take all limits away, before others are set');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd keys change NhFgtsqwDtGuSptFDaYPo2 --documents 1000', purpose: 'as many and no more' },
    { command: 'memoryd keys change NhFgtsqwDtGuSptFDaYPo2 --no-limits', purpose: 'what configuration and kind say' },
  ]);
  command.action(async (id: string, options: ChangeOptions) => {
    const client = await openClient(options, context);
    const key = await client.changeKey(id, changeOf(options)).catch(explainMissingKey(id));
    if (options.json) return printJson(context.stdout, key);
    for (const line of linesOf(key)) printLine(context.stdout, line);
  });
}

function changeOf({ name, limits, ...options }: ChangeOptions): KeyChange {
  const { quota } = quotaOf(options);
  const all = { ...(!limits && { documents: null, bytes: null }), ...quota };
  return {
    ...(name !== undefined && { name }),
    ...(!limits && { rateLimitMax: null }),
    ...rateLimitOf(options),
    ...(Object.keys(all).length > 0 && { quota: all }),
  };
}

/** As the API takes it; nothing for what was not said. */
export function quotaOf({ documents, bytes }: Limits): { quota?: Partial<KeyQuota> } {
  if (documents === undefined && bytes === undefined) return {};
  return { quota: { ...(documents !== undefined && { documents }), ...(bytes !== undefined && { bytes }) } };
}

/** The same of requests. */
export function rateLimitOf({ requestsPerMinute }: Limits): { rateLimitMax?: number; rateLimitTimeWindow?: number } {
  return requestsPerMinute === undefined ? {} : { rateLimitMax: requestsPerMinute, rateLimitTimeWindow: 60_000 };
}

function linesOf({ id, name, quota, usage, rateLimitMax, rateLimitTimeWindow }: KeyAnswer): string[] {
  const held = (what: 'documents' | 'bytes') => `${usage ? `${usage[what]} of ` : ''}${quota[what] ?? 'any number'}`;
  const window = (rateLimitTimeWindow ?? 60_000) / 1_000;
  return [
    `key        ${id} (${name})`,
    `documents  ${held('documents')}`,
    `bytes      ${held('bytes')}`,
    `requests   ${rateLimitMax === null ? 'as the configuration says' : `${rateLimitMax} in ${window} seconds`}`,
  ];
}

export function explainMissingKey(id: string) {
  return (error: unknown): never => {
    if (!(error instanceof CommandFailure) || error.status !== 404) throw error;
    throw new CommandFailure(exitCodes.failure, `There is no key ${id}.`, {
      remedy: '`memoryd keys list` shows the ids of the keys there are.',
      cause: error,
    });
  };
}
