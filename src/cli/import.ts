import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { lastOf, present } from '../base/collections.ts';
import type { JsonObject } from '../connector/contract.ts';
import type { Client } from './client.ts';
import { withPatience, type Endpoint } from './client-request.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import {
  fetchMem0,
  mem0Source,
  readMem0File,
  openSupermemory,
  type ImportPage,
  type ImportSource,
} from './import-services.ts';
import {
  addExamples,
  addJsonOption,
  addNamespacesOption,
  collect,
  type JsonOption,
  type NamespacesOption,
} from './options.ts';
import { createStatusLine } from './status-line.ts';
import { counted } from './text.ts';

interface ImportOptions extends JsonOption, NamespacesOption {
  url?: string;
  apiKey?: string;
  to?: string;
  key?: string;
  dataDir?: string;
  config?: string;
  user?: string[];
  withSynced?: boolean;
  memories: boolean;
  settings: boolean;
  state: string;
}

const timeoutMs = 60_000;
const maxBatchBytes = 8 * 1024 * 1024;
const maxMemories = 100;
const hosted = { supermemory: 'https://api.supermemory.ai', mem0: 'https://api.mem0.ai' };

export function addImportCommand(program: Command, context: CommandContext): void {
  const command = program.command('import').description('Carry over what another memory service holds.');
  const supermemory = command
    .command('supermemory')
    .description('Read documents, memories and settings from a running service that speaks the API of supermemory.')
    .option('--url <address>', `address of the service (default: ${hosted.supermemory})`)
    .option('--api-key <key>', 'its API key (default: SUPERMEMORY_API_KEY)');
  addNamespacesOption(supermemory, 'only this namespace (repeatable)')
    .option('--with-synced', 'also what connections of the service wrote, which comes twice if you connect them here')
    .option('--no-memories', 'documents only: memories are made anew from them')
    .option('--no-settings', 'leave the settings here as they are');
  addCommonOptions(supermemory).action((options: ImportOptions) => importSupermemory(options, context));
  addExamples(supermemory, [
    { command: 'memoryd import supermemory --api-key sm_…', purpose: 'everything that the key may read' },
    { command: 'memoryd import supermemory --url http://old:6767', purpose: 'from another memoryd' },
  ]);
  const mem0 = command
    .command('mem0')
    .description('Read memories from an export of mem0, or from a running one.')
    .argument('[file]', 'an export: JSON')
    .option('--url <address>', `address of the service (default: ${hosted.mem0})`)
    .option('--api-key <key>', 'its API key (default: MEM0_API_KEY)')
    .option('--user <id>', 'the user whose memories a server of your own holds (repeatable)', collect);
  addNamespacesOption(mem0, 'only this namespace (repeatable)');
  addCommonOptions(mem0).action((file: string | undefined, options: ImportOptions) =>
    importMem0(file, options, context),
  );
  addExamples(mem0, [{ command: 'memoryd import mem0 export.json', purpose: 'a namespace for each user' }]);
  addExamples(command, [
    { command: 'memoryd import supermemory --api-key sm_…', purpose: 'from the hosted service' },
    { command: 'memoryd import mem0 export.json', purpose: 'from an export' },
  ]);
}

function addCommonOptions(command: Command): Command {
  return addJsonOption(command)
    .option('--state <file>', 'where it is noted how far it got, until it is done', 'memoryd-import.json')
    .option('--to <address>', 'address of the daemon (default: MEMORYD_URL, else the daemon of the data directory)')
    .option('--key <key>', 'API key of the daemon (default: MEMORYD_API_KEY, else the key of the data directory)')
    .option('--data-dir <path>', 'data directory of the daemon')
    .option('--config <file>', 'configuration file (default: memoryd.config.json)');
}

async function importSupermemory(options: ImportOptions, context: CommandContext): Promise<void> {
  const endpoint = serviceAt(options, context, 'supermemory', 'SUPERMEMORY_API_KEY');
  const reading = { synced: options.withSynced === true, now: () => context.clock.now() };
  const source = await withPatience(context, () => openSupermemory(endpoint, reading));
  await carryOver(source, endpoint.url, options, context);
}

async function importMem0(file: string | undefined, options: ImportOptions, context: CommandContext): Promise<void> {
  const path = file === undefined ? null : resolve(context.cwd, file);
  const endpoint = path === null ? serviceAt(options, context, 'mem0', 'MEM0_API_KEY') : null;
  const memories = endpoint
    ? await withPatience(context, () => fetchMem0(endpoint, options.user ?? []))
    : await readMem0File(path!);
  await carryOver(mem0Source(memories, context.clock.now()), endpoint?.url ?? path!, options, context);
}

function serviceAt(
  options: ImportOptions,
  { env, signal }: CommandContext,
  service: keyof typeof hosted,
  variable: string,
): Endpoint {
  const url = (options.url ?? hosted[service]).replace(/\/+$/, '');
  const key = options.apiKey ?? env[variable] ?? '';
  if (!/^https?:\/\/[^/]/.test(url)) throw new CommandFailure(exitCodes.usage, `${url} is not an address.`);
  // The hosted service takes a token, a server of one's own a key.
  const headers = { authorization: `Token ${key}`, 'x-api-key': key };
  return {
    ...{ url, key, keySource: options.apiKey ? 'of --api-key' : `of ${variable}`, signal, timeoutMs },
    unreachable: 'Check the address (--url).',
    service: {
      name: 'The service',
      keyRemedy: `Give a valid key with --api-key or ${variable}.`,
      ...(service === 'mem0' && { headers }),
    },
  };
}

/** How far it got, so that it can go on after an interruption. */
interface State {
  from: string;
  settings: boolean;
  /** Pages that were carried over of each container. */
  containers: Record<string, { settings: boolean; documents: number; memories: number; isDone: boolean }>;
  counts: { containers: number; documents: number; memories: number };
  /** Documents that were not imported, counted by reason. */
  left: Record<string, number>;
}

async function carryOver(
  source: ImportSource,
  from: string,
  options: ImportOptions,
  context: CommandContext,
): Promise<void> {
  const { url: _source, to, ...access } = options;
  const client = await openClient({ ...access, ...present({ url: to }) }, context);
  const path = resolve(context.cwd, options.state);
  const state = await readState(path, from);
  const line = createStatusLine(context.stderr);
  const carrying: Carrying = {
    ...{ source, client, state, options, context },
    async note() {
      await writeFile(path, JSON.stringify(state));
      if (line.live) line.show(`${summary(state)} …`);
    },
  };
  try {
    await carryAll(carrying);
  } catch (error) {
    line.clear();
    printLine(context.stderr, `Stopped. ${path} says how far it got: the same command goes on from there.`);
    throw error;
  }
  line.clear();
  await rm(path, { force: true });
  report(state, options, context);
}

async function readState(path: string, from: string): Promise<State> {
  const fresh = { settings: false, containers: {}, counts: { containers: 0, documents: 0, memories: 0 }, left: {} };
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return { from, ...fresh };
  let state: Partial<State> = {};
  try {
    state = JSON.parse(text);
  } catch {
    // Another file of this name is told of below.
  }
  if (state.from === from && state.containers && state.counts && state.left) return state as State;
  throw new CommandFailure(exitCodes.usage, `${path} is not of an import from ${from}.`, {
    remedy: 'Remove it to begin anew, or name another file with --state.',
  });
}

interface Carrying {
  source: ImportSource;
  client: Client;
  state: State;
  options: ImportOptions;
  context: CommandContext;
  /** Keeps the state. */
  note(): Promise<void>;
}

async function carryAll(carrying: Carrying): Promise<void> {
  const { source, client, state, options, context, note } = carrying;
  if (options.settings !== false && !state.settings && options.namespace === undefined) {
    const settings = await withPatience(context, () => source.settings());
    if (settings) await withPatience(context, () => client.setSettings(settings));
    state.settings = true;
    await note();
  }
  const found = await withPatience(context, () => source.containers());
  const missing = (options.namespace ?? []).filter((container) => !found.includes(container));
  if (missing.length > 0) {
    throw new CommandFailure(exitCodes.usage, `There is no namespace ${missing.join(', ')}.`, {
      remedy: found.length > 0 ? `There are: ${found.join(', ')}.` : 'The service shows none.',
    });
  }
  for (const container of options.namespace ?? found) await carryContainer(carrying, container);
}

async function carryContainer(carrying: Carrying, container: string): Promise<void> {
  const { source, client, state, options, context, note } = carrying;
  const done = (state.containers[container] ??= { settings: false, documents: 0, memories: 0, isDone: false });
  if (done.isDone) return;
  if (options.settings !== false && !done.settings) {
    const settings = await withPatience(context, () => source.containerSettings(container));
    if (settings) await withPatience(context, () => client.setContainer(container, settings));
    done.settings = true;
    await note();
  }
  await carryPages(carrying, container, 'documents', async (entries) => {
    for (const documents of batchesOf(entries)) {
      const answer = await withPatience(context, () => client.addBatch({ containerTag: container, documents }));
      const refused = answer.results.filter(({ status }) => status === 'error');
      leave(
        state,
        refused.map(({ error }) => `was refused: ${error ?? 'no reason was given'}`),
      );
      state.counts.documents += answer.results.length - refused.length;
    }
  });
  if (options.memories !== false) {
    await carryPages(carrying, container, 'memories', async (entries) => {
      for (let start = 0; start < entries.length; start += maxMemories) {
        const memories = entries.slice(start, start + maxMemories);
        await withPatience(context, () => client.addMemories({ containerTag: container, memories }));
        state.counts.memories += memories.length;
      }
    });
  }
  done.isDone = true;
  state.counts.containers += 1;
  await note();
}

/** A page that was interrupted is carried over again: what is there already stays one. */
async function carryPages(
  { source, state, context, note }: Carrying,
  container: string,
  kind: 'documents' | 'memories',
  carry: (entries: JsonObject[]) => Promise<void>,
): Promise<void> {
  const done = state.containers[container]!;
  for (let isLast = false; !isLast;) {
    const page: ImportPage = await withPatience(context, () => source[kind](container, done[kind] + 1));
    leave(state, page.left);
    await carry(page.entries);
    done[kind] += 1;
    isLast = page.isLast;
    // What is noted counts whole pages only, so that a repetition does not count twice.
    await note();
  }
}

function leave(state: State, reasons: readonly string[]): void {
  for (const reason of reasons) state.left[reason] = (state.left[reason] ?? 0) + 1;
}

function batchesOf(entries: readonly JsonObject[]): JsonObject[][] {
  const batches: JsonObject[][] = [];
  let bytes = Infinity;
  for (const entry of entries) {
    const size = Buffer.byteLength(JSON.stringify(entry));
    if (bytes + size > maxBatchBytes) {
      batches.push([]);
      bytes = 0;
    }
    lastOf(batches).push(entry);
    bytes += size;
  }
  return batches;
}

function report(state: State, options: ImportOptions, { stdout, stderr }: CommandContext): void {
  const { from, counts, left } = state;
  if (options.json) printJson(stdout, { from, ...counts, left });
  printLine(stderr, `${summary(state)}.`);
  for (const [reason, count] of Object.entries(left)) printLine(stderr, `Left behind: ${count}, each ${reason}.`);
  if (counts.documents > 0) printLine(stderr, '`memoryd status` shows how far they are searchable.');
}

function summary({ counts }: State): string {
  const { containers, documents, memories } = counts;
  return `${counted(documents, 'document')}, ${counted(memories, 'memory', 'memories')}, ${counted(containers, 'namespace')} carried over`;
}
