import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { configFields, type ConfigField } from '../base/config-schema.ts';
import { describeConfig, describeSource, loadConfig, type LoadedConfig } from '../base/config.ts';
import { printLine, type CommandContext, type DaemonApp, paint, type Screen } from './context.ts';
import { removeDaemonFile, writeDaemonFile } from './daemon-file.ts';
import { addExamples, addNamespaceOption } from './options.ts';
import { createStatusLine, type StatusLine } from './status-line.ts';
import { MemorydError } from '../base/errors.ts';
import { collectAtRest } from '../base/concurrency.ts';
import { everyContainer } from '../base/scope.ts';
import type { Connection, FollowedConnection } from '../connections/connection-types.ts';
import type { Connections } from '../connections/connection-service.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { followProgress, progressSummary, isFinished } from './progress.ts';
import { polledViews } from './progress-views.ts';
import { nameOf } from './connection-choice.ts';

type StartOptions = { namespace?: string; config?: string } & Record<string, string | undefined>;

const flagFields: readonly ConfigField[] = configFields.filter((field) => field.flag !== null);

export function addStartCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('start')
    .description('Run the daemon in the foreground. With a folder: mirror that folder too, now and from then on.')
    .argument('[folder]', 'a folder to mirror');
  addNamespaceOption(command, 'namespace of the folder’s documents').option(
    '--config <file>',
    'configuration file (default: memoryd.config.json)',
  );
  for (const { flag, schema } of flagFields) command.option(flag!, flagHelp(schema));
  addExamples(command, [
    { command: 'memoryd start', purpose: 'all in one process, data in ./.memoryd' },
    { command: 'memoryd start ./notes', purpose: 'and mirror a folder' },
    { command: 'memoryd start --port 8080 --data-dir ~/memory', purpose: 'another port and place' },
    { command: 'memoryd start --role worker', purpose: 'one of several processes (needs databaseUrl and redisUrl)' },
  ]);
  command.action((folder: string | undefined, options: StartOptions) => start(folder, options, context));
}

function flagHelp(schema: ConfigField['schema']): string {
  const choices = schema.enum ? ` One of ${schema.enum.join(', ')}.` : '';
  return `${schema.description}${choices} (default: ${String(schema.default)})`;
}

async function start(folder: string | undefined, options: StartOptions, context: CommandContext): Promise<void> {
  // What the daemon writes is for its own user: keys, the mirrored texts, uploads on their way.
  process.umask(0o077);
  collectAtRest();
  const flags = Object.fromEntries(flagFields.map(({ path }) => [path, options[path]]));
  const loaded = loadConfig({ flags, configFile: options.config, env: context.env, cwd: context.cwd });
  const mirrored = folder === undefined ? null : await checkFolder(folder, context.cwd);
  const line = createStatusLine(context.stderr);
  context.signal.addEventListener('abort', () => {
    line.above('Stopping. Press Ctrl-C again to stop at once.\n');
  });
  await withApp(loaded, line, context, async (app) => {
    for (const text of welcome(await introduction(loaded, app, context))) printLine(context.stdout, text);
    if (mirrored && !context.signal.aborted) {
      await mirrorFolder(app.connections, { ...mirrored, tag: tagOf(options, loaded) }, line, context);
    }
    if (line.live && answers(loaded.config)) await followSyncs(app.connections, line, context);
    await stopped(context.signal);
  });
}

/** Runs `work` while the daemon runs. The daemon is closed whatever happens. */
async function withApp(
  loaded: LoadedConfig,
  line: StatusLine,
  context: CommandContext,
  work: (app: DaemonApp) => Promise<void>,
): Promise<void> {
  const { config } = loaded;
  const { createLogger } = await import('../base/log.ts');
  const log = createLogger(config.logLevel, { write: (text) => line.above(logText(text, line)) });
  // The first start makes a database, which takes a few seconds.
  if (line.live) line.show('Starting …');
  try {
    const app = await context.createApp({ config, settings: describeConfig(loaded), clock: context.clock, log });
    try {
      await app.start();
      line.clear();
      await announced(loaded, app, context, () => work(app));
    } finally {
      await app.close();
    }
  } finally {
    line.clear();
  }
}

function logText(text: string, line: StatusLine): string {
  return line.live ? readableLogLine(text) : text;
}

function tagOf(options: StartOptions, { config }: LoadedConfig): string {
  return options.namespace ?? config.defaultContainerTag;
}

/** Whether this process has the API. */
function answers({ role }: LoadedConfig['config']): boolean {
  return role === 'all' || role === 'api';
}

/** While `work` runs, commands in other terminals find this daemon. A process without the API is not found. */
async function announced(
  { config }: LoadedConfig,
  app: DaemonApp,
  context: CommandContext,
  work: () => Promise<void>,
): Promise<void> {
  if (!answers(config)) return work();
  const { pid } = process;
  const startedAt = context.clock.now().toISOString();
  const { certFile } = config.tls;
  const certificate = certFile === undefined ? {} : { certificate: await readFile(certFile, 'utf8') };
  await writeDaemonFile(config.dataDir, { url: app.url, pid, token: app.localToken, ...certificate, startedAt });
  try {
    await work();
  } finally {
    await removeDaemonFile(config.dataDir, pid);
  }
}

async function introduction(loaded: LoadedConfig, app: DaemonApp, context: CommandContext): Promise<Introduction> {
  const { config, sources } = loaded;
  const source = sources['databaseUrl']!;
  return {
    version: context.version,
    role: config.role,
    url: app.url,
    firstKey: app.firstKey,
    namespace: config.defaultContainerTag,
    // What is read by a log or a journal is for more eyes than those of whoever may sign in.
    consoleLink: answers(config) && context.stdout.isTTY ? await app.consoleLink() : null,
    storage: config.databaseUrl === undefined ? config.dataDir : `PostgreSQL, as the ${describeSource(source)} says`,
    dataDirOption: dataDirOption(loaded),
    screen: context.stdout,
  };
}

/** What commands in another terminal need to find the daemon: nothing, where they look for it by themselves. */
function dataDirOption({ config, sources }: LoadedConfig): string {
  const kind = sources['dataDir']?.kind;
  if (kind !== 'flag' && kind !== 'environment') return '';
  const { dataDir } = config;
  return ` --data-dir ${/^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", `'\\''`)}'`}`;
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const levels: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

/** A JSON log line as people read it in a terminal: `12:00:03 info  sync finished  itemsSeen=8`. */
export function readableLogLine(line: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { level, time, msg, ...fields } = entry;
  const localTime = new Date(String(time)).toTimeString().slice(0, 8);
  const values = Object.entries(fields).flatMap(([name, value]) => fieldTexts(name, value));
  const stacks = Object.values(fields).flatMap((value) => stackOf(value) ?? []);
  const head = `${localTime} ${(levels[Number(level)] ?? String(level)).padEnd(5)} ${[msg, ...values].join('  ')}`;
  return `${[head, ...stacks].join('\n')}\n`;
}

/** As `name=value`; an object as its own fields. What says nothing is left out. */
function fieldTexts(name: string, value: unknown): string[] {
  if (value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value) || stackOf(value) !== null)
    return [`${name}=${fieldText(value)}`];
  return Object.entries(value).flatMap(([inner, one]) => (one === null ? [] : [`${inner}=${fieldText(one)}`]));
}

function fieldText(value: unknown): string {
  if (stackOf(value) !== null) return JSON.stringify((value as { message?: unknown }).message);
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

/** Errors are logged as objects with a stack. */
function stackOf(value: unknown): string | null {
  const stack = (value as { stack?: unknown } | null)?.stack;
  return typeof stack === 'string' ? stack : null;
}

interface Introduction {
  version: string;
  role: 'all' | 'api' | 'worker' | 'scheduler';
  url: string;
  /** The key that this start generated; null at every later start. */
  firstKey: string | null;
  /** The one that is used when none is named. */
  namespace: string;
  /** Opens the console, once; null where nobody looks, and where no API is. */
  consoleLink: string | null;
  /** Where everything is kept, in words. */
  storage: string;
  /** Goes behind commands; empty, or begins with a space. */
  dataDirOption: string;
  screen: Screen;
}

/** The text that a start prints: the address, the key when it is new, and next steps. */
export function welcome(introduction: Introduction): string[] {
  const { version, role, url, storage, screen } = introduction;
  if (role === 'worker' || role === 'scheduler') {
    return [`${paint(screen, 'bold', `memoryd ${version}`)} runs as ${role}. Data: ${storage}`];
  }
  return [
    `${paint(screen, 'bold', `memoryd ${version}`)} runs at ${paint(screen, 'cyan', url)}`,
    `Data: ${storage}`,
    '',
    ...console(introduction),
    ...(introduction.firstKey === null ? [] : newKey(introduction.firstKey, introduction)),
    '',
    'Press Ctrl-C to stop.',
  ];
}

function console({ consoleLink, dataDirOption: option, screen }: Introduction): string[] {
  if (consoleLink === null)
    return [`The console, in a browser: \`npx memoryd console${option}\` prints a link that signs in.`];
  return [
    `The console, in a browser (signs in once, within five minutes; \`npx memoryd open${option}\` does it again):`,
    `  ${paint(screen, 'cyan', consoleLink)}`,
  ];
}

function newKey(key: string, { url, namespace, dataDirOption: option, screen }: Introduction): string[] {
  const dim = (text: string) => paint(screen, 'dim', text);
  return [
    '',
    'API key (shown only this once, keep it):',
    `  ${paint(screen, 'bold', key)}`,
    '',
    'Next, in another terminal:',
    dim('  # mirror a folder and search it; no key needed on this machine'),
    `  npx memoryd connect folder ./notes${option}`,
    `  npx memoryd search "what did we decide?"${option}`,
    dim('  # or by HTTP'),
    `  curl ${url}/ns/${encodeURIComponent(namespace)}/search -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d '{"query":"what did we decide?"}'`,
    dim('  # or from your program: npm install supermemory'),
    `  new Supermemory({ baseURL: '${url}', apiKey: '${key}' })`,
  ];
}

interface StartFolder {
  /** The path as the user wrote it. */
  label: string;
  /** Absolute. */
  path: string;
}

/** Before anything is started: throws a usage failure when it is no folder. */
async function checkFolder(folder: string, cwd: string): Promise<StartFolder> {
  const path = resolve(cwd, folder);
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) return { label: folder, path };
  const what = found ? 'is not a folder' : 'does not exist';
  throw new CommandFailure(exitCodes.usage, `${path} ${what}.`, {
    remedy: 'memoryd start takes the path of a folder.',
  });
}

/**
 * Connects the folder unless it is connected already, and shows the progress of its first sync.
 * Returns when that is over; the folder stays mirrored. A sync that fails is shown and does not end
 * the daemon; throws when the folder cannot be connected at all.
 */
async function mirrorFolder(
  connections: Connections,
  folder: StartFolder & { tag: string },
  line: StatusLine,
  context: CommandContext,
): Promise<void> {
  const { clock, signal, stderr } = context;
  const { connection, sinceRun } = await connectOnce(connections, folder);
  if (connection.status !== 'active') {
    printLine(stderr, `${folder.label} is ${connection.status}. \`memoryd resume ${connection.id}\` goes on with it.`);
    return;
  }
  const outcome = await followProgress({
    views: polledViews(() => connections.progress(connection.id), clock, signal),
    line,
    label: folder.label,
    clock,
    signal,
    sinceRun: sinceRun ?? undefined,
  });
  if (!outcome) return;
  const [first, ...rest] = progressSummary(outcome.view, outcome.elapsedMs, connection.id);
  const lines = [`${folder.label}: ${first}. From now on changes are mirrored as they happen.`, ...rest];
  for (const text of lines) line.above(`${text}\n`);
}

interface Connected {
  connection: Pick<Connection, 'id' | 'status'>;
  /** The run to wait for; null: whichever comes first. */
  sinceRun: string | null;
}

async function connectOnce(connections: Connections, folder: StartFolder & { tag: string }): Promise<Connected> {
  const connection = (await connections.list(everyContainer, 'folder')).find(
    ({ config, containerTag }) => config['path'] === folder.path && containerTag === folder.tag,
  );
  if (!connection) {
    const input = { provider: 'folder', containerTag: folder.tag, metadata: { path: folder.path }, readsAnyPath: true };
    const { id } = await connections.create(input);
    return { connection: { id, status: 'active' }, sinceRun: null };
  }
  const sinceRun = connection.status === 'active' ? await requestSync(connections, connection.id) : null;
  return { connection, sinceRun };
}

async function requestSync(connections: Connections, id: string): Promise<string | null> {
  try {
    return (await connections.requestSync(id, { mode: 'incremental', trigger: 'manual' })).id;
  } catch (error) {
    // A sync that runs already serves as well.
    if (!MemorydError.is(error) || error.code !== 'conflict') throw error;
    return null;
  }
}

const lookEveryMs = 2_000;

/**
 * Shows in a terminal how far the syncs are that go on, one at a time, whoever began them, until the signal aborts.
 * What full syncs came to stays there to be read.
 */
async function followSyncs(
  connections: Pick<Connections, 'withLastRuns' | 'progress'>,
  line: StatusLine,
  { clock, signal }: Pick<CommandContext, 'clock' | 'signal'>,
): Promise<void> {
  /** Runs that were over, with all their documents, when they were looked at. */
  const settled = new Set<string>();
  while (!signal.aborted) {
    // A database that does not answer is for the log to tell.
    await lookAtAll().catch(() => undefined);
    await clock.sleep(lookEveryMs, signal);
  }

  async function lookAtAll(): Promise<void> {
    for (const connection of await connections.withLastRuns()) {
      const { id, lastRun } = connection;
      if (signal.aborted || lastRun === null || settled.has(lastRun.id)) continue;
      if (isFinished(await connections.progress(id))) settled.add(lastRun.id);
      else await follow(connection);
    }
  }

  async function follow({ id, provider, email, config, lastRun }: FollowedConnection): Promise<void> {
    const label = nameOf({ id, provider, email, metadata: config });
    const views = polledViews(() => connections.progress(id), clock, signal);
    const outcome = await followProgress({ views, line, label, clock, signal });
    if (!outcome || lastRun?.mode !== 'full') return;
    const [first, ...rest] = progressSummary(outcome.view, outcome.elapsedMs, id);
    for (const text of [`${label}: ${first}`, ...rest]) line.above(`${text}\n`);
  }
}
