import { resolve } from 'node:path';
import type { Command } from 'commander';
import { nearest } from '../base/nearest.ts';
import type { Client, InstalledConnector } from './client.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { followConnection } from './follow.ts';
import {
  addDaemonOptions,
  addExamples,
  addJsonOption,
  collect,
  type DaemonOptions,
  type JsonOption,
} from './options.ts';
import {
  checkSettings,
  doubtfulKeys,
  readSettingFile,
  splitSetting,
  typedSettings,
  type SettingTexts,
} from './settings.ts';

interface ConnectOptions extends DaemonOptions, JsonOption {
  tag?: string;
  set?: string[];
  setFile?: string[];
  include?: string[];
  exclude?: string[];
  gitignore?: boolean;
  wait: boolean;
}

export function addConnectCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('connect')
    .description('Mirror a source into memory, and keep it mirrored.')
    .argument('<provider>', 'the kind of source, e.g. folder')
    .argument('[target]', 'what to mirror; for a folder its path')
    .option('--tag <tag>', 'container tag of its documents (default: the daemon’s default)')
    .option('--set <key=value>', 'a setting of the connector; may be repeated', collect)
    .option('--set-file <key=path>', 'the same, read from a file or from standard input (-): for secrets', collect)
    .option('--include <glob>', 'only what matches; may be repeated', collect)
    .option('--exclude <glob>', 'not what matches; may be repeated', collect)
    .option('--gitignore', 'leave out what .gitignore files name')
    .option('--wait', 'wait for the first sync', true)
    .option('--no-wait', 'return at once; the first sync goes on in the daemon');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd connect folder ./notes', purpose: 'mirror a folder' },
    { command: "memoryd connect folder . --include '**/*.md' --tag handbook", purpose: 'only Markdown, own container' },
    { command: 'memoryd connect imap --set host=mail.example.com --set-file password=-', purpose: 'a secret by input' },
  ]);
  command.action((provider: string, target: string | undefined, options: ConnectOptions) =>
    connect(provider, target, options, context),
  );
}

async function connect(
  provider: string,
  target: string | undefined,
  options: ConnectOptions,
  context: CommandContext,
): Promise<void> {
  const client = await openClient(options, context);
  const { configSchema } = await installedConnector(client, provider);
  const texts = await settingTexts(provider, target, options, context);
  const asked = (['include', 'exclude', 'gitignore'] as const).filter((name) => options[name] !== undefined);
  checkSettings(asked, provider, configSchema);
  for (const note of doubtfulKeys(texts.keys(), configSchema)) printLine(context.stderr, note);
  const created = await client.connect(provider, {
    metadata: typedSettings(texts, configSchema),
    ...(options.tag === undefined ? {} : { containerTag: options.tag }),
  });
  if (options.json && !options.wait) return printJson(context.stdout, created);
  if (created.authLink) return askForConsent(created.authLink, created, options, context);
  printLine(context.stderr, `Connected ${provider} as ${created.id}.`);
  if (options.wait) {
    const label = target ?? provider;
    const progress = await followConnection(client, { id: created.id, label }, context);
    if (options.json) return printJson(context.stdout, { ...created, progress });
  }
  if (!options.json) printLine(context.stdout, created.id);
}

async function installedConnector(client: Client, provider: string): Promise<InstalledConnector> {
  const connectors = await client.connectors();
  const found = connectors.find((connector) => connector.provider === provider);
  if (found) return found;
  const names = connectors.map((connector) => connector.provider);
  const near = nearest(provider, names);
  throw new CommandFailure(
    exitCodes.usage,
    `There is no connector ${provider}.${near ? ` Did you mean ${near}?` : ''}`,
    {
      remedy: `Installed: ${names.join(', ')}.`,
    },
  );
}

async function settingTexts(
  provider: string,
  target: string | undefined,
  options: ConnectOptions,
  context: CommandContext,
): Promise<SettingTexts> {
  const texts: SettingTexts = new Map();
  const add = (key: string, value: string) => texts.set(key, [...(texts.get(key) ?? []), value]);
  if (target !== undefined && provider !== 'folder') {
    throw new CommandFailure(exitCodes.usage, `${provider} takes no target.`, {
      remedy: 'Say what to mirror with --set key=value.',
    });
  }
  if (target === undefined && provider === 'folder' && !options.set?.some((pair) => pair.startsWith('path='))) {
    throw new CommandFailure(exitCodes.usage, 'The path of the folder is missing.', {
      remedy: 'Write it after the provider: memoryd connect folder ./notes',
    });
  }
  if (target !== undefined) add('path', resolve(context.cwd, target));
  for (const pair of options.set ?? []) add(...splitSetting(pair));
  for (const pair of options.setFile ?? [])
    add(...(await readSettingFile(pair, context.cwd, () => context.readInput())));
  for (const glob of options.include ?? []) add('include', glob);
  for (const glob of options.exclude ?? []) add('exclude', glob);
  if (options.gitignore) add('gitignore', 'true');
  return texts;
}

function askForConsent(link: string, created: object, options: ConnectOptions, context: CommandContext): void {
  if (options.json) return printJson(context.stdout, created);
  printLine(context.stderr, 'Open this address in a browser and allow the access; the first sync starts then:');
  printLine(context.stdout, link);
}
