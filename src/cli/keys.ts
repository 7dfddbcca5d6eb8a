import { Option, type Command } from 'commander';
import { printJson, printLine, roomOf, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import {
  addDaemonOptions,
  addExamples,
  addJsonOption,
  addNamespacesOption,
  wholeNumber,
  type DaemonOptions,
  type JsonOption,
  type NamespacesOption,
} from './options.ts';
import {
  addChangeKeyCommand,
  addLimitOptions,
  explainMissingKey,
  quotaOf,
  rateLimitOf,
  type Limits,
} from './key-limits.ts';
import { localTime, table } from './text.ts';

interface CreateOptions extends DaemonOptions, JsonOption, NamespacesOption, Limits {
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
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [{ command: 'memoryd keys list', purpose: 'a table' }]);
  command.action(async (options: DaemonOptions & JsonOption) => {
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
  addDaemonOptions(addJsonOption(addLimitOptions(command)));
  addExamples(command, [
    { command: 'memoryd keys create --name backup', purpose: 'full access' },
    { command: 'memoryd keys create --namespace user_mira --expires-in-days 30', purpose: 'one namespace, one month' },
  ]);
  command.action(async (options: CreateOptions) => {
    const client = await openClient(options, context);
    const created = await client.createKey({
      permission: options.permission,
      // The API wants a name for a full key and makes one up for the others.
      ...(options.name === undefined && !options.namespace ? { name: 'command line' } : {}),
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(options.namespace === undefined ? {} : { containerTags: options.namespace }),
      ...rateLimitOf(options),
      ...quotaOf(options),
      ...(options.expiresInDays === undefined ? {} : { expiresInDays: options.expiresInDays }),
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
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd keys rotate NhFgtsqwDtGuSptFDaYPo2', purpose: 'a day to change programs over' },
  ]);
  command.action(async (id: string, options: DaemonOptions & JsonOption & { overlapHours: number }) => {
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
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [{ command: 'memoryd keys revoke NhFgtsqwDtGuSptFDaYPo2', purpose: 'by its id' }]);
  command.action(async (id: string, options: DaemonOptions & JsonOption) => {
    const client = await openClient(options, context);
    const answer = await client.revokeKey(id).catch(explainMissingKey(id));
    if (options.json) return printJson(context.stdout, answer);
    printLine(context.stdout, `Revoked ${answer.id}.`);
  });
}
