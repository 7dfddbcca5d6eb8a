import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { nearest } from '../base/did-you-mean.ts';
import { pushProvider } from '../inbound/push/push-service.ts';
import type { Client } from './client.ts';
import type {
  InstalledConnector,
  AuthorizationWay,
  CallbackParameters,
  StartedAuthorization,
} from './client-connections.ts';
import { chooseConnection } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { followConnection } from './follow.ts';
import { addClientOptions, addNamespaceOption, collect, type ClientOptions, type NamespaceOption } from './options.ts';
import {
  checkSettings,
  doubtfulKeys,
  readSettingFile,
  readSettingVariable,
  splitSetting,
  typedSettings,
  type SettingTexts,
} from './settings.ts';
import type { JsonSchema } from '../connector/contract.ts';

interface ConnectOptions extends ClientOptions, NamespaceOption {
  set?: string[];
  setFile?: string[];
  setEnv?: string[];
  again?: string;
  paste?: boolean;
  include?: string[];
  exclude?: string[];
  gitignore?: boolean;
  memories?: 'off' | 'facts' | 'facts+episodes';
  trust?: 'own' | 'read';
  author?: string;
  profile?: boolean;
  wait: boolean;
}

export function addConnectCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('connect')
    .description('Mirror a source into memory, and keep it mirrored.')
    .argument('<provider>', 'the kind of source, e.g. folder')
    .argument('[target]', 'what to mirror; for a folder its path');
  addNamespaceOption(command, 'namespace of its documents (default: the daemon’s default)')
    .option('--set <key=value>', 'a setting of the connector; may be repeated', collect)
    .option('--set-file <key=path>', 'the same, read from a file or from standard input (-): for secrets', collect)
    .option('--set-env <key=variable>', 'the same, read from an environment variable', collect)
    .option('--paste', 'bring the answer of the source by hand, when the browser cannot reach the daemon')
    .option('--again <id>', 'authorize this connection again, instead of making one')
    .option('--include <glob>', 'only what matches; may be repeated', collect)
    .option('--exclude <glob>', 'not what matches; may be repeated', collect)
    .option('--gitignore', 'leave out what .gitignore files name')
    .addOption(
      new Option(
        '--memories <what>',
        'what becomes a memory (default: of what is own and of chats all, of the rest nothing)',
      ).choices(['off', 'facts', 'facts+episodes']),
    )
    .addOption(new Option('--trust <whose>', 'own: the owner wrote it; read: others did').choices(['own', 'read']))
    .option('--author <name>', 'who wrote what names nobody, e.g. "Alice <alice@example.com>"')
    .option('--profile', 'let what is read there enter profiles')
    .option('--wait', 'wait for the first sync', true)
    .option('--no-wait', 'return at once; the first sync continues in the daemon');
  addClientOptions(command, [
    { command: 'memoryd connect folder ./notes', purpose: 'mirror a folder' },
    {
      command: "memoryd connect folder . --include '**/*.md' --namespace handbook",
      purpose: 'only Markdown, own namespace',
    },
    { command: 'memoryd connect imap --set host=mail.example.com --set-file password=-', purpose: 'a secret by input' },
    {
      command: 'memoryd connect folder ./journal --trust own --author Alice',
      purpose: 'notes of one’s own make memories',
    },
    { command: 'memoryd connect github', purpose: 'shows where to allow the access' },
    { command: 'memoryd connect github --paste', purpose: 'the same, with the browser on another machine' },
    { command: 'memoryd connect github --again nTPk --set-env token=GITHUB_TOKEN', purpose: 'new credentials' },
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
  const { configSchema: settings, auth } = await installedConnector(client, provider);
  const ways = auth === undefined || auth === 'config' ? [] : await client.waysToAuthorize(provider);
  const configSchema = withAuthorization(settings, ways);
  const texts = await settingTexts(provider, target, options, context);
  const asked = (['include', 'exclude', 'gitignore'] as const).filter((name) => options[name] !== undefined);
  checkSettings(asked, provider, configSchema);
  for (const note of doubtfulKeys(texts.keys(), configSchema)) printLine(context.stderr, note);
  const required = options.again === undefined ? settings : undefined;
  await askMissing(texts, required, ways, context);
  requireSettings(texts, required, provider);
  const created = await client.connect(provider, {
    metadata: typedSettings(texts, configSchema),
    containerTag: options.namespace,
    ...memorySettings(options),
    ...(await connectedBefore(options.again, client)),
  });
  if (options.json && !options.wait) return printJson(context.stdout, created);
  const { authLink } = created;
  if (authLink !== null) {
    if (!options.wait && !options.paste) return printLine(context.stdout, authLink);
    const shown = options.json ? { ...context, stdout: context.stderr } : context;
    await waitForConsent(client, { ...created, authLink }, { provider, paste: options.paste === true }, shown);
  }
  printLine(context.stderr, `Connected ${provider} as ${created.id}.`);
  if (provider === pushProvider) printLine(context.stderr, `To push into it: memoryd push ${created.id} items.jsonl`);
  // What is pushed has no first sync to wait for.
  if (options.wait && provider !== pushProvider) {
    const label = target ?? provider;
    const progress = await followConnection(client, { id: created.id, label }, context);
    if (options.json) return printJson(context.stdout, { ...created, progress });
  }
  if (options.json) printJson(context.stdout, created);
  else printLine(context.stdout, created.id);
}

function memorySettings({ memories, trust, author, profile }: ConnectOptions) {
  return {
    memories,
    trust,
    author,
    inProfile: profile === true || undefined,
  };
}

async function connectedBefore(again: string | undefined, client: Client): Promise<{ connectionId?: string }> {
  if (again === undefined) return {};
  return { connectionId: chooseConnection(await client.connections(), again).id };
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
  if (
    options.again === undefined &&
    target === undefined &&
    provider === 'folder' &&
    !options.set?.some((pair) => pair.startsWith('path='))
  ) {
    throw new CommandFailure(exitCodes.usage, 'The path of the folder is missing.', {
      remedy: 'Write it after the provider: memoryd connect folder ./notes',
    });
  }
  if (target !== undefined) add('path', resolve(context.cwd, target));
  for (const pair of options.set ?? []) add(...splitSetting(pair));
  for (const pair of options.setFile ?? [])
    add(...(await readSettingFile(pair, context.cwd, async () => String(await context.readInput()))));
  for (const pair of options.setEnv ?? []) add(...readSettingVariable(pair, context.env));
  for (const glob of options.include ?? []) add('include', glob);
  for (const glob of options.exclude ?? []) add('exclude', glob);
  if (options.gitignore) add('gitignore', 'true');
  return texts;
}

interface Property {
  title?: unknown;
  description?: unknown;
  'x-secret'?: unknown;
}

/**
 * Asks for what is needed to authorize and was not given, when somebody sits at the terminal:
 * secrets unseen, the rest in sight. Nothing has to be given: then the user's consent is asked for.
 */
async function askMissing(
  texts: SettingTexts,
  configSchema: JsonSchema | undefined,
  ways: readonly AuthorizationWay[],
  { ask }: CommandContext,
): Promise<void> {
  if (!ask) return;
  const wanted = [configSchema, chosenFields(texts, ways)].flatMap((schema) => (schema ? missing(schema, texts) : []));
  for (const [name, property] of wanted) {
    const answer = await ask(`${question(name, property)}: `, { hidden: property['x-secret'] === true });
    if (answer !== '') texts.set(name, [answer]);
  }
}

/** Throws a usage failure for settings that the connector requires and that nobody gave. */
function requireSettings(texts: SettingTexts, configSchema: JsonSchema | undefined, provider: string): void {
  const left = configSchema ? missing(configSchema, texts) : [];
  if (left.length === 0) return;
  const named = left.map(([name, property]) => question(name, property)).join(', ');
  throw new CommandFailure(exitCodes.usage, `${provider} cannot be connected without ${named}.`, {
    remedy: `Give it with ${left.map(([name]) => `--set ${name}=…`).join(' ')}`,
  });
}

/** The schema of the authorization with all its ways: what is given is given the types that it says. */
function withAuthorization(configSchema: JsonSchema | undefined, ways: readonly AuthorizationWay[]): JsonSchema {
  const schemas = [...ways.flatMap(({ fields }) => (fields ? [fields] : [])), ...(configSchema ? [configSchema] : [])];
  return { ...configSchema, properties: Object.assign({}, ...schemas.map(propertiesOf)) as object };
}

/** The way of which something is given; else the first, which is the default, unless that is consent. */
function chosenFields(texts: SettingTexts, ways: readonly AuthorizationWay[]): JsonSchema | undefined {
  const withFields = ways.flatMap(({ fields }) => (fields ? [fields] : []));
  const begun = withFields.find((fields) => Object.keys(propertiesOf(fields)).some((name) => texts.has(name)));
  if (begun) return begun;
  return ways[0]?.fields ?? undefined;
}

/** Properties that a schema requires and nobody gave. */
function missing(schema: JsonSchema, texts: SettingTexts): [string, Property][] {
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  return Object.entries(propertiesOf(schema)).filter(([name]) => required.includes(name) && !texts.has(name));
}

function propertiesOf(schema: JsonSchema): Record<string, Property> {
  return (schema['properties'] ?? {}) as Record<string, Property>;
}

function question(name: string, { title, description }: Property): string {
  const words = [title, description].find((text) => typeof text === 'string' && text !== '');
  return typeof words === 'string' ? `${words} (${name})` : name;
}

interface ConsentOptions {
  provider: string;
  /** The user brings the answer by hand, because the browser does not reach the daemon. */
  paste: boolean;
}

const pollEveryMs = 1_000;

/** Shows where to give consent, and waits until that is done. Throws `failure` when it was not given. */
async function waitForConsent(
  client: Client,
  started: StartedAuthorization & { authLink: string },
  { provider, paste }: ConsentOptions,
  context: CommandContext,
): Promise<void> {
  const { stdout, stderr } = context;
  printLine(stderr, 'Open this address in a browser and allow the access:');
  printLine(stdout, started.authLink);
  if (paste) return completeByHand(client, started.authLink, provider, context);
  printLine(stderr, 'Waiting for the browser to come back. If it cannot reach the daemon, begin again with --paste.');
  await pollConsent(client, started.id, context);
}

async function pollConsent(client: Client, id: string, { clock, signal }: CommandContext): Promise<void> {
  while (!signal.aborted) {
    const { status } = await client.authorization(id);
    if (status === 'connected') return;
    if (status !== 'pending') throw new CommandFailure(exitCodes.failure, failures[status]);
    await clock.sleep(pollEveryMs, signal);
  }
  throw new CommandFailure(exitCodes.interrupted, 'Stopped waiting. The link still works for the rest of its hour.');
}

const failures = {
  access_denied: 'The access was not allowed.',
  exchange_failed: 'The source could not give the access.',
  expired: 'The link has expired. Begin again.',
} as const;

async function completeByHand(
  client: Client,
  authLink: string,
  provider: string,
  context: CommandContext,
): Promise<void> {
  const { stderr, ask } = context;
  printLine(
    stderr,
    'The browser ends at an address that may not load. Paste that whole address here, or the code in it.',
  );
  const pasted = ask ? await ask('Address or code: ', { hidden: false }) : String(await context.readInput());
  await client.completeAuthorization(provider, readPasted(pasted, authLink));
}

/** Reads a pasted address or code. Throws a usage failure for one that belongs to another link. */
function readPasted(pasted: string, authLink: string): CallbackParameters {
  const text = pasted.trim();
  const state = new URL(authLink).searchParams.get('state') ?? '';
  if (!/(?:^|[?&])(?:code|error|state)=/.test(text)) {
    if (text !== '' && !/[\s:?]/.test(text)) return { state, code: text };
    throw unusable('That is neither the address nor a code.');
  }
  const query = new URLSearchParams(text.replace(/^[^?]*\?/, '').replace(/#.*$/, ''));
  if (query.get('state') !== state) throw unusable('That address belongs to another link.');
  const [code, error] = [query.get('code'), query.get('error')];
  if (error) return { state, error };
  if (code) return { state, code };
  throw unusable('That address has no code.');
}

function unusable(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, message, {
    remedy: 'Copy the whole address of the page that the browser ended at. Nothing was connected.',
  });
}
