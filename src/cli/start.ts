import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { configFields, type ConfigField } from '../base/config-schema.ts';
import { describeConfig, describeSource, loadConfig, type LoadedConfig } from '../base/config.ts';
import { createLogger } from '../base/log.ts';
import { printLine, type CommandContext, type DaemonApp } from './context.ts';
import { removeDaemonFile, writeDaemonFile } from './daemon-file.ts';
import { readableLogLine } from './log-line.ts';
import { addExamples, addNamespaceOption } from './options.ts';
import { checkFolder, mirrorFolder } from './start-folder.ts';
import { createStatusLine, type StatusLine } from './status-line.ts';
import { welcome, type Introduction } from './welcome.ts';

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
    screen: context.stdout,
  };
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
