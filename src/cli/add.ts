import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { AddAnswer, AddBody, Client } from './client.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addClientOptions, addNamespaceOption, type ClientOptions, type NamespaceOption } from './options.ts';
import { createStatusLine } from './status-line.ts';

interface AddOptions extends ClientOptions, NamespaceOption {
  customId?: string;
  title?: string;
  wait?: boolean;
}

export function addAddCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('add')
    .description('Put one document into memory: a file, a web address, a text, or the standard input.')
    .argument('<what>', 'path of a file, an address, a text of several words, or - for the standard input');
  addNamespaceOption(command, 'namespace to put it into (default: the daemon’s default)')
    .option('--custom-id <id>', 'your own id; adding it again replaces the document')
    .option('--title <title>', 'title of the document')
    .option('--wait', 'wait until it can be found');
  addClientOptions(command, [
    { command: 'memoryd add ./roadmap.pdf --wait', purpose: 'a file' },
    { command: 'memoryd add "Mira prefers short written updates" --namespace user_mira', purpose: 'a sentence' },
    { command: 'git log -20 | memoryd add - --custom-id git-log', purpose: 'what another program prints' },
  ]);
  command.action((what: string, options: AddOptions) => add(what, options, context));
}

async function add(what: string, options: AddOptions, context: CommandContext): Promise<void> {
  const client = await openClient(options, context);
  const accepted = await send(client, what, options, context);
  const answer = options.wait ? await waitUntilDone(client, accepted, context) : accepted;
  if (options.json) printJson(context.stdout, answer);
  else printLine(context.stdout, `${answer.id} ${answer.status}`);
  if (answer.status === 'failed') throw await unprocessed(client, answer.id);
}

async function unprocessed(client: Client, id: string): Promise<CommandFailure> {
  const { error } = await client.failedDocument(id);
  const why = error?.message ?? 'It does not say why.';
  return new CommandFailure(exitCodes.failure, `The document could not be processed: ${why}`);
}

async function send(client: Client, what: string, options: AddOptions, context: CommandContext): Promise<AddAnswer> {
  if (what === '-') return sendBytes(client, await context.readInput(), undefined, options);
  if (what.trim() === '') throw nothingToAdd();
  const path = resolve(context.cwd, what);
  const found = await stat(path).catch(() => null);
  if (found?.isFile()) return sendBytes(client, await readFile(path), basename(path), options);
  return client.addText({ content: typed(what, path, found?.isDirectory() === true), ...fields(options) });
}

/** `name`: that of the file; the standard input has none. */
async function sendBytes(
  client: Client,
  bytes: Buffer,
  name: string | undefined,
  options: AddOptions,
): Promise<AddAnswer> {
  const content = name === undefined || isWriting(name) ? textOf(bytes) : null;
  if (content === null) return client.addFile(form(bytes, name, options));
  if (content.trim() === '') throw nothingToAdd();
  return client.addText({ content, filepath: name, ...fields(options) });
}

function nothingToAdd(): CommandFailure {
  return new CommandFailure(exitCodes.usage, 'There is nothing to add: it is empty.');
}

/** A text of several words or an address; a single word is more likely a mistyped path. */
function typed(what: string, path: string, isFolder: boolean): string {
  if (/\s/.test(what) || /^https?:\/\//.test(what)) return what;
  if (isFolder) {
    throw new CommandFailure(exitCodes.usage, `${path} is a folder.`, {
      remedy: `To mirror what is in it: memoryd connect folder ${what}`,
    });
  }
  throw new CommandFailure(exitCodes.usage, `There is no file ${path}.`, {
    remedy: 'To add a single word as text, pipe it in: echo word | memoryd add -',
  });
}

/** A file of plain text or Markdown is told to memory as it stands; of every other kind the daemon takes the text out. */
function isWriting(name: string): boolean {
  return /^[^.]+$|\.(?:md|markdown|mdown|txt|text)$/i.test(name);
}

/** Formats that other programs write, and that may be plain ASCII. */
const madeByPrograms = /^(?:%PDF-|\{\\rtf|<!doctype|<html|<\?xml)/i;

/** Null for what is not UTF-8 text, and for text that somebody else's program has to be read from. */
function textOf(bytes: Buffer): string | null {
  if (madeByPrograms.test(bytes.toString('latin1', 0, 32).trimStart())) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

function fields({ namespace, customId, title }: AddOptions): Omit<AddBody, 'content'> {
  return {
    containerTag: namespace,
    customId,
    metadata: title === undefined ? undefined : { title },
  };
}

function form(bytes: Buffer, name: string | undefined, options: AddOptions): FormData {
  const form = new FormData();
  // A part without a file name would be a field.
  form.set('file', new Blob([new Uint8Array(bytes)]), name ?? 'standard input');
  const { metadata, ...texts } = { filepath: name, ...fields(options) };
  for (const [key, value] of Object.entries(texts)) if (value !== undefined) form.set(key, value);
  if (metadata) form.set('metadata', JSON.stringify(metadata));
  return form;
}

const pollMs = 300;

async function waitUntilDone(client: Client, accepted: AddAnswer, context: CommandContext): Promise<AddAnswer> {
  const line = createStatusLine(context.stderr);
  let { status } = accepted;
  while (status !== 'done' && status !== 'failed') {
    if (line.live) line.show(`${status} …`);
    await context.clock.sleep(pollMs, context.signal);
    if (context.signal.aborted) {
      line.clear();
      throw new CommandFailure(exitCodes.interrupted, 'Stopped waiting. The daemon continues to process it.');
    }
    ({ status } = await client.document(accepted.id));
  }
  line.clear();
  return { id: accepted.id, status };
}
