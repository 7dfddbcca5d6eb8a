import { present } from '../base/collections.ts';
import { Option, type Command } from 'commander';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import {
  addClientOptions,
  addExamples,
  addNamespacesOption,
  wholeNumber,
  type ClientOptions,
  type NamespacesOption,
} from './options.ts';
import { localTime, table } from './text.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { KeyAnswer, KeyChange, KeyQuota } from './key-answer.ts';

interface CreateOptions extends ClientOptions, NamespacesOption, Limits {
  name?: string;
  permission: string;
  expiresInDays?: number;
}

export function addKeysCommand(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('Manage the API keys of the daemon.');
  addExamples(keys, [
    { command: 'memoryd keys list', purpose: 'what exists' },
    { command: 'memoryd keys create --namespace user_mira --permission read', purpose: 'a key for one namespace' },
    { command: 'memoryd keys change NhFgtsqwDtGuSptFDaYPo2 --documents 1000', purpose: 'limit what it may hold' },
    { command: 'memoryd keys revoke NhFgtsqwDtGuSptFDaYPo2', purpose: 'end a key at once' },
  ]);
  addList(keys, context);
  addCreate(keys, context);
  addChangeKeyCommand(keys, context);
  addRotate(keys, context);
  addRevoke(keys, context);
}

function addList(keys: Command, context: CommandContext): void {
  const command = keys.command('list').description('List the keys; the keys themselves are never shown again.');
  addClientOptions(command, [{ command: 'memoryd keys list', purpose: 'a table' }]);
  command.action(async (options: ClientOptions) => {
    const found = await (await openClient(options, context)).keys();
    if (options.json) return printJson(context.stdout, found);
    const rows = found.map((key) => [
      key.id,
      key.name,
      `${key.start}…`,
      key.permission,
      key.containerTags.length > 0 ? key.containerTags.join(', ') : 'all',
      key.enabled ? localTime(key.expiresAt) : 'disabled',
      localTime(key.lastUsedAt),
    ]);
    const headings = ['ID', 'NAME', 'KEY', 'PERMISSION', 'NAMESPACES', 'EXPIRES', 'LAST USED'];
    for (const line of table(headings, rows, roomOf(context.stdout))) printLine(context.stdout, line);
  });
}

function addCreate(keys: Command, context: CommandContext): void {
  const command = keys
    .command('create')
    .description('Make a key: for everything, or with --namespace for some namespaces.')
    .option('--name <name>', 'what it is for');
  addNamespacesOption(command, 'a namespace that it opens; may be repeated (default: all, and management)')
    .addOption(new Option('--permission <permission>', 'what it may do').choices(['read', 'write']).default('write'))
    .option('--expires-in-days <days>', 'end of its life (default: none)', wholeNumber(1, 365));
  addClientOptions(addLimitOptions(command), [
    { command: 'memoryd keys create --name backup', purpose: 'full access' },
    { command: 'memoryd keys create --namespace user_mira --expires-in-days 30', purpose: 'one namespace, one month' },
  ]);
  command.action(async (options: CreateOptions) => {
    const client = await openClient(options, context);
    const created = await client.createKey({
      permission: options.permission,
      // The API wants a name for a full key and makes one up for the others.
      name: options.name ?? (options.namespace ? undefined : 'command line'),
      containerTags: options.namespace,
      ...rateLimitOf(options),
      ...quotaOf(options),
      expiresInDays: options.expiresInDays,
    });
    if (options.json) return printJson(context.stdout, created);
    printLine(context.stderr, `Key ${created.id} (${created.name}). It is shown only this once:`);
    printLine(context.stdout, created.key);
  });
}

function addRotate(keys: Command, context: CommandContext): void {
  const command = keys
    .command('rotate')
    .description('Replace a key by a new one that may do the same. The old one works on for a while.')
    .argument('<id>', 'id of the key, as `memoryd keys list` shows it')
    .option('--overlap-hours <hours>', 'how long the old one works on', wholeNumber(0, 720), 24);
  addClientOptions(command, [
    { command: 'memoryd keys rotate NhFgtsqwDtGuSptFDaYPo2', purpose: 'a day to change programs over' },
  ]);
  command.action(async (id: string, options: ClientOptions & { overlapHours: number }) => {
    const client = await openClient(options, context);
    const rotated = await client.rotateKey(id, options.overlapHours).catch(explainMissingKey(id));
    if (options.json) return printJson(context.stdout, rotated);
    printLine(context.stderr, `${id} works until ${localTime(rotated.replaces.expiresAt)}.`);
    printLine(context.stderr, `Key ${rotated.id} (${rotated.name}) takes its place. It is shown only this once:`);
    printLine(context.stdout, rotated.key);
  });
}

function addRevoke(keys: Command, context: CommandContext): void {
  const command = keys
    .command('revoke')
    .description('End a key. Requests with it are refused from then on.')
    .argument('<id>', 'id of the key, as `memoryd keys list` shows it');
  addClientOptions(command, [{ command: 'memoryd keys revoke NhFgtsqwDtGuSptFDaYPo2', purpose: 'by its id' }]);
  command.action(async (id: string, options: ClientOptions) => {
    const client = await openClient(options, context);
    const answer = await client.revokeKey(id).catch(explainMissingKey(id));
    if (options.json) return printJson(context.stdout, answer);
    printLine(context.stdout, `Revoked ${answer.id}.`);
  });
}

/** Limits as given by the options. */
interface Limits {
  requestsPerMinute?: number;
  documents?: number;
  bytes?: number;
}

interface ChangeOptions extends ClientOptions, Limits {
  name?: string;
  /** False: `--no-limits`. */
  limits: boolean;
}

const most = Number.MAX_SAFE_INTEGER;

/** Options that set limits of a key. */
function addLimitOptions(command: Command): Command {
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
function addChangeKeyCommand(keys: Command, context: CommandContext): void {
  const command = keys
    .command('change')
    .description('Change the name and the limits of a key. Without options it shows what holds.')
    .argument('<id>', 'id of the key, as `memoryd keys list` shows it')
    .option('--name <name>', 'what it is for');
  addLimitOptions(command).option('--no-limits', 'take all limits away, before others are set');
  addClientOptions(command, [
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
    name,
    ...(!limits && { rateLimitMax: null }),
    ...rateLimitOf(options),
    ...(Object.keys(all).length > 0 && { quota: all }),
  };
}

/** The body for the API, without fields that were not given. */
function quotaOf({ documents, bytes }: Limits): { quota?: Partial<KeyQuota> } {
  if (documents === undefined && bytes === undefined) return {};
  return { quota: present({ documents, bytes }) };
}

/** The same of requests. */
function rateLimitOf({ requestsPerMinute }: Limits): { rateLimitMax?: number; rateLimitTimeWindow?: number } {
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

function explainMissingKey(id: string) {
  return (error: unknown): never => {
    if (!(error instanceof CommandFailure) || error.status !== 404) throw error;
    throw new CommandFailure(exitCodes.failure, `There is no key ${id}.`, {
      remedy: '`memoryd keys list` shows the ids of the keys there are.',
      cause: error,
    });
  };
}
