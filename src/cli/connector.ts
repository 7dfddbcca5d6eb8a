import { existsSync, readdirSync } from 'node:fs';
import { basename, join, relative, resolve, dirname, sep } from 'node:path';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { firstOf } from '../base/collections.ts';
import { addCheckCommand } from './check.ts';
import { printLine, type CommandContext, printJson } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addClientOptions, addExamples, type ClientOptions } from './options.ts';
import type { Client } from './client.ts';
import type { SharedHookAnswer } from './client-connections.ts';
import { openClient } from './daemon-access.ts';

export function addConnectorCommand(program: Command, context: CommandContext): void {
  const connector = program
    .command('connector')
    .description('Write, test and check connectors, and set up their hooks.');
  addExamples(connector, [
    { command: 'memoryd connector new acme-notes', purpose: 'a package with a connector, a fake server and its test' },
    { command: 'memoryd connector test acme-notes', purpose: 'the acceptance kit on it' },
    { command: 'memoryd connector check nTPk', purpose: 'whether a connection works' },
    { command: 'memoryd connector hook notion', purpose: 'the secret that a source offers for its hooks' },
  ]);
  addNew(connector, context);
  addTest(connector, context);
  addCheckCommand(connector, context);
  addHookCommand(connector, context);
}

function addNew(connector: Command, context: CommandContext): void {
  const command = connector
    .command('new')
    .description('Write a package with a connector, a server that stands for its source, and a test that passes.')
    .argument('<name>', 'name of the connector: lower-case letters, digits and hyphens')
    .option('--into <folder>', 'folder to write it into (default: memoryd-connector-<name>)')
    .option('--title <title>', 'name for people (default: made of the name)');
  addExamples(command, [
    { command: 'memoryd connector new acme-notes', purpose: 'writes ./memoryd-connector-acme-notes' },
    { command: 'memoryd connector new acme --into packages/acme --title "Acme Cloud"', purpose: 'elsewhere' },
  ]);
  command.action(async (name: string, options: { into?: string; title?: string }) => {
    const short = name.replace(/^memoryd-connector-/, '');
    const folder = resolve(context.cwd, options.into ?? packageName(short));
    const { version } = context;
    const files = await scaffoldConnector({
      name: short,
      folder,
      version,
      title: options.title || undefined,
    });
    const shown = relative(context.cwd, folder) || '.';
    for (const file of files) printLine(context.stdout, `wrote ${join(shown, file)}`);
    printLine(context.stdout, '\nNext:');
    for (const step of [`cd ${shown}`, 'npm install', 'npm test']) printLine(context.stdout, `  ${step}`);
  });
}

function addTest(connector: Command, context: CommandContext): void {
  const command = connector
    .command('test')
    .description('Run the acceptance kit on a connector: the checks that every connector must pass.')
    .argument('[connector]', 'its folder, or its name when it stands in this folder or is installed (default: .)')
    .option('--check <number>', 'only this check');
  addExamples(command, [
    { command: 'memoryd connector test', purpose: 'the package in this folder' },
    { command: 'memoryd connector test acme-notes --check 4', purpose: 'one check' },
  ]);
  command.action(async (word: string | undefined, options: { check?: string }) => {
    const folder = connectorFolder(word ?? '.', context.cwd);
    const passed = await runKit(folder, options.check ?? null, context);
    if (!passed) throw new CommandFailure(exitCodes.failure, `The connector in ${folder} did not pass its tests.`);
  });
}

function packageName(name: string): string {
  return `memoryd-connector-${name}`;
}

/** Where the package of a connector stands: a path, or a name that is looked for here and among what is installed. */
function connectorFolder(word: string, cwd: string): string {
  const places = [word, packageName(word), join('node_modules', packageName(word)), join('node_modules', word)];
  const folders = places.map((place) => resolve(cwd, place));
  const found = folders.find((folder) => existsSync(join(folder, 'package.json')));
  if (found !== undefined) return found;
  throw new CommandFailure(exitCodes.usage, `There is no package of a connector ${basename(word)}.`, {
    remedy: `Looked for package.json in ${folders.join(', ')}. \`memoryd connector new ${basename(word)}\` writes one.`,
  });
}

/** Runs the tests of a connector's package through Vitest. Answers whether they passed. */
async function runKit(folder: string, check: string | null, context: CommandContext): Promise<boolean> {
  const parameters = [vitestOf(folder), 'run', '--root', folder];
  if (check !== null) parameters.push('--testNamePattern', `check ${check} `);
  const child = spawn(process.execPath, parameters, {
    cwd: folder,
    env: { ...context.env },
    stdio: ['ignore', ...(context.stdout.isTTY ? (['inherit', 'inherit'] as const) : (['pipe', 'pipe'] as const))],
  });
  child.stdout?.on('data', (part: Buffer) => context.stdout.write(part.toString('utf8')));
  child.stderr?.on('data', (part: Buffer) => context.stderr.write(part.toString('utf8')));
  const stop = () => child.kill('SIGTERM');
  context.signal.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise<boolean>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code === 0));
    });
  } finally {
    context.signal.removeEventListener('abort', stop);
  }
}

/** The package's own Vitest, else the one beside memoryd. */
function vitestOf(folder: string): string {
  for (const from of [join(folder, 'package.json'), import.meta.url]) {
    try {
      const file = createRequire(from).resolve('vitest/package.json');
      return join(dirname(file), 'vitest.mjs');
    } catch {
      continue;
    }
  }
  throw new CommandFailure(exitCodes.usage, 'Vitest is not installed.', {
    remedy: `Run \`npm install --save-dev vitest\` in ${folder}.`,
  });
}

interface HookOptions extends ClientOptions {
  accept?: string;
  forget?: boolean;
}

function addHookCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('hook')
    .description('The hook of a source that makes its secret by itself: where it sends to, and what it offers.')
    .argument('<connector>', 'name of a connector')
    .option('--accept <secret>', 'take this secret, which the source offers')
    .option('--forget', 'take no hooks any more until the source has offered another secret');
  addClientOptions(command, [
    {
      command: 'memoryd connector hook notion',
      purpose: 'the address for the subscription, then the token to verify it',
    },
    { command: 'memoryd connector hook notion --accept secret_x', purpose: 'takes what is signed with it from now on' },
  ]);
  command.action(async (name: string, options: HookOptions) => {
    const client = await openClient(options, context);
    const hook = await ask(client, name, options);
    if (options.json) printJson(context.stdout, hook);
    else for (const line of linesOf(name, hook)) printLine(context.stdout, line);
  });
}

function ask(client: Client, name: string, { accept, forget }: HookOptions): Promise<SharedHookAnswer> {
  if (accept !== undefined) return client.acceptHook(name, accept);
  return forget === true ? client.forgetHook(name) : client.hook(name);
}

function linesOf(name: string, { address, state, offered }: SharedHookAnswer): string[] {
  const where = address ?? `<your public address>/v3/hooks/${name} (set publicUrl, so that sources reach this daemon)`;
  if (state === 'set') return [`Address: ${where}`, 'Its hooks are taken.'];
  if (offered === null)
    return [`Address: ${where}`, 'The source has offered no secret yet: subscribe it to this address.'];
  return [
    `Address: ${where}`,
    `Offered at ${offered.at}: ${offered.secret}`,
    'Anybody can send one. Show it to the source; when the source takes it, so may you:',
    `  memoryd connector hook ${name} --accept ${offered.secret}`,
  ];
}

const validName = /^[a-z][a-z0-9-]{1,31}$/;
const templates = new URL('connector-template/', import.meta.url);
const ownFolder = fileURLToPath(new URL('../../', import.meta.url));

/** Where each template goes. npm leaves out files that are named .gitignore, so that one has no dot. */
const files: Readonly<Record<string, string>> = {
  'package.json': 'package.json',
  'src/connector.ts': 'connector.ts',
  'test/fake-server.ts': 'fake-server.ts',
  'test/connector.test.ts': 'connector.test.ts',
  'README.md': 'README.md',
  'tsconfig.json': 'tsconfig.json',
  'tsconfig.build.json': 'tsconfig.build.json',
  'vitest.config.ts': 'vitest.config.ts',
  '.gitignore': 'gitignore',
};

interface Scaffold {
  name: string;
  /** Absolute; made if it is not there. */
  folder: string;
  /** The version of memoryd. */
  version: string;
  /** For people. Default: made of the name. */
  title?: string | undefined;
}

/** Writes the package of a new connector; answers the files from its folder. Never overwrites anything. */
async function scaffoldConnector({ name, folder, version, title }: Scaffold): Promise<string[]> {
  if (!validName.test(name)) {
    throw new CommandFailure(exitCodes.usage, `${name} is no name for a connector.`, {
      remedy: 'It must have 2 to 32 lower-case letters, digits and hyphens, and begin with a letter.',
    });
  }
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandFailure(exitCodes.usage, `${folder} is not empty.`, { remedy: 'Choose another with --into.' });
  }
  const values = {
    NAME: name,
    TITLE: sourceText(title ?? titleOf(name)),
    VERSION: version,
    MEMORYD: memorydFor(folder, version),
  };
  for (const [path, template] of Object.entries(files)) {
    const text = await readFile(new URL(`${template}.template`, templates), 'utf8');
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), fill(text, values));
  }
  return Object.keys(files);
}

/**
 * The version of memoryd that the new package installs: the published one, or this very folder when it is a
 * clone, whose version the registry need not have.
 */
function memorydFor(folder: string, version: string): string {
  if (ownFolder.split(sep).includes('node_modules')) return `^${version}`;
  return `file:${relative(folder, ownFolder).split(sep).join('/')}`;
}

function fill(text: string, values: Record<string, string>): string {
  return text.replace(/__([A-Z]+)__/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/** `acme-notes` → `Acme Notes` */
function titleOf(name: string): string {
  const words = name.split('-').filter((word) => word !== '');
  return words.map((word) => firstOf(word).toUpperCase() + word.slice(1)).join(' ');
}

/** Stands between quotes in JSON and in TypeScript. */
function sourceText(text: string): string {
  return text.replace(/["'`\\<>\p{C}]/gu, '').trim();
}
