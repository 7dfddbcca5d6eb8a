import { InvalidArgumentError, Option, type Command } from 'commander';

export interface Example {
  command: string;
  /** Its purpose, in a few words. */
  purpose: string;
}

/** Shown at the end of a command's help and in the generated reference. */
export function addExamples(command: Command, examples: readonly Example[]): Command {
  const width = Math.max(...examples.map((example) => example.command.length));
  const lines = examples.map((example) => `  ${example.command.padEnd(width)}   ${example.purpose}`);
  return command.addHelpText('after', ['', 'Examples:', ...lines].join('\n'));
}

/** Where a running daemon is, and the key to it. */
export interface DaemonOptions {
  url?: string;
  key?: string;
  dataDir?: string;
  config?: string;
}

export function addDaemonOptions(command: Command): Command {
  return command
    .option('--url <address>', 'address of the daemon (default: MEMORYD_URL, else the daemon of the data directory)')
    .option('--key <key>', 'API key (default: MEMORYD_API_KEY, else the key of the data directory)')
    .option('--data-dir <path>', 'data directory of the daemon')
    .option('--config <file>', 'configuration file (default: memoryd.config.json)');
}

export interface NamespaceOption {
  namespace?: string;
}

/** A container tag is a namespace to people, as in the newer dialect of the API; the older words are taken too. */
export function addNamespaceOption(command: Command, description: string): Command {
  command.addOption(new Option('--namespace <name>', description));
  return addOlderWords(command);
}

export interface NamespacesOption {
  namespace?: string[];
}

/** The same for several: the option may be repeated. */
export function addNamespacesOption(command: Command, description: string): Command {
  command.addOption(new Option('--namespace <name>', description).argParser(collect));
  return addOlderWords(command, collect);
}

function addOlderWords(command: Command, parse?: typeof collect): Command {
  for (const word of ['tag', 'container']) {
    const option = new Option(`--${word} <name>`, 'an older word for --namespace').hideHelp().conflicts('namespace');
    command.addOption(parse ? option.argParser(parse) : option);
  }
  return command.hook('preAction', (_, called) => {
    const { tag, container } = called.opts<{ tag?: unknown; container?: unknown }>();
    const older = tag ?? container;
    if (older !== undefined) called.setOptionValue('namespace', older);
  });
}

export interface JsonOption {
  json?: boolean;
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'print one JSON document');
}

/** Options of every command that asks a running daemon and shows its answer. */
export interface ClientOptions extends DaemonOptions, JsonOption {}

export function addClientOptions(command: Command, examples: readonly Example[]): Command {
  return addExamples(addDaemonOptions(addJsonOption(command)), examples);
}

/** For options that may be given several times. */
export function collect(value: string, previous: string[] | undefined): string[] {
  return [...(previous ?? []), value];
}

export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
  };
}

/** A time, or a day, of which the end is meant. */
export function pastMoment(text: string): string {
  return momentOf(text, '23:59:59.999');
}

/** A time, or a day, of which the beginning is meant. */
export function beginning(text: string): string {
  return momentOf(text, '00:00:00.000');
}

/** A day is one of this machine's zone. */
function momentOf(text: string, timeOfDay: string): string {
  const moment = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T${timeOfDay}` : text);
  if (!Number.isNaN(moment.getTime())) return moment.toISOString();
  throw new InvalidArgumentError('It must be a day or a time, such as 2026-10-01 or 2026-10-01T12:00.');
}

export function fraction(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}
