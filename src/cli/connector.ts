import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { addCheckCommand } from './check.ts';
import { scaffoldConnector } from './connector-scaffold.ts';
import { addHookCommand } from './connector-hook.ts';
import { runKit } from './connector-kit.ts';
import { printLine, type CommandContext } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addExamples } from './options.ts';

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
      ...(options.title && { title: options.title }),
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
    .description('Run the acceptance kit on a connector: the laws that no connector may break.')
    .argument('[connector]', 'its folder, or its name when it stands in this folder or is installed (default: .)')
    .option('--law <number>', 'only this law');
  addExamples(command, [
    { command: 'memoryd connector test', purpose: 'the package in this folder' },
    { command: 'memoryd connector test acme-notes --law 4', purpose: 'one law' },
  ]);
  command.action(async (word: string | undefined, options: { law?: string }) => {
    const folder = connectorFolder(word ?? '.', context.cwd);
    const passed = await runKit(folder, options.law ?? null, context);
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
