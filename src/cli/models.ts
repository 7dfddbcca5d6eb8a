import type { Command } from 'commander';
import { loadConfig } from '../base/config.ts';
import {
  paint,
  printJson,
  printLine,
  roomOf,
  type CommandContext,
  type EmbedderReport,
  type ListedModel,
  type Screen,
} from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addExamples, addJsonOption, type JsonOption } from './options.ts';
import { createStatusLine } from './status-line.ts';
import { table } from './text.ts';

interface ModelOptions extends JsonOption {
  config?: string;
  dataDir?: string;
}

interface PullOptions extends ModelOptions {
  revision?: string;
  file?: string;
}

export function addModelsCommand(program: Command, context: CommandContext): void {
  const models = program.command('models').description('Look after the models that memory is made with.');
  addExamples(models, [
    { command: 'memoryd models list', purpose: 'what there is' },
    { command: 'memoryd models pull bekko-a8m', purpose: 'get a model for many languages' },
    { command: 'memoryd models use bekko-a8m', purpose: 'search with it from the next start on' },
    { command: 'memoryd models verify', purpose: 'test the embedding model' },
  ]);
  addList(models, context);
  addPull(models, context);
  addUse(models, context);
  addVerify(models, context);
}

function addModelOptions(command: Command): Command {
  return addJsonOption(command)
    .option('--data-dir <path>', 'data directory of the daemon')
    .option('--config <file>', 'configuration file (default: memoryd.config.json)');
}

function addList(models: Command, context: CommandContext): void {
  const command = models
    .command('list')
    .description('List the embedding models: the built-in one, those that can be pulled, and those that are here.');
  addModelOptions(command);
  addExamples(command, [{ command: 'memoryd models list', purpose: 'a table' }]);
  command.action(async (options: ModelOptions) => {
    const config = configOf(options, context);
    const listed = await (await context.localModels({ config })).list();
    const models = listed.map((model) => ({ ...model, chosen: model.chosen && config.embedder.kind === 'chosen' }));
    if (options.json) return printJson(context.stdout, models);
    const headings = ['NAME', 'LANGUAGES', 'DIMENSIONS', 'SIZE', 'LICENCE', 'STATE'];
    for (const line of table(headings, models.map(cells), roomOf(context.stdout))) printLine(context.stdout, line);
    const note = foreignChoice(config.embedder.kind);
    if (note) printLine(context.stderr, note);
  });
}

function cells({ name, languages, dimensions, bytes, license, ...model }: ListedModel): string[] {
  const state = model.chosen ? 'in use' : model.installed ? 'here' : '';
  return [name, languages ?? '', String(dimensions ?? ''), bytes === null ? '' : size(bytes), license ?? '', state];
}

function addPull(models: Command, context: CommandContext): void {
  const command = models
    .command('pull')
    .argument('<model>', 'a name of the list, or owner/name of a repository')
    .description(
      'Get a model from the hub (setting embedder.hub) into the data directory: one of the list, or any repository with an ONNX model. What has arrived is kept when it ends early.',
    )
    .option('--revision <revision>', 'of a repository: a branch, a tag or a commit (default: main)')
    .option('--file <path>', 'of a repository: the .onnx file to take (default: the usual names)');
  addModelOptions(command);
  addExamples(command, [
    { command: 'memoryd models pull bekko-a8m', purpose: 'one of the list' },
    { command: 'memoryd models pull example/model --file onnx/model_int8.onnx', purpose: 'of a repository' },
    { command: 'MEMORYD_EMBEDDER_HUB=http://hub.lan memoryd models pull bekko-a8m', purpose: 'from another hub' },
  ]);
  command.action((model: string, options: PullOptions) => pull(model, options, context));
}

async function pull(
  model: string,
  { revision, file, ...options }: PullOptions,
  context: CommandContext,
): Promise<void> {
  const { signal, stderr } = context;
  const local = await context.localModels({ config: configOf(options, context) });
  const line = createStatusLine(stderr);
  let shown = '';
  const onProgress = (progress: { file: string; receivedBytes: number; totalBytes: number }) => {
    const total = size(progress.totalBytes);
    const text = line.live
      ? `${progress.file}: ${size(progress.receivedBytes)} of ${total}`
      : `${progress.file} (${total} in all)`;
    if (text !== shown) line.show(text);
    shown = text;
  };
  try {
    const { name } = await local.pull({ model, revision, modelFile: file, signal, onProgress });
    line.clear();
    if (options.json) return printJson(context.stdout, { name });
    printLine(
      context.stdout,
      `${name} is here. \`memoryd models use ${name}\` makes it the model that is searched with.`,
    );
  } finally {
    line.clear();
  }
}

function addUse(models: Command, context: CommandContext): void {
  const command = models
    .command('use')
    .argument('<model>', 'a name of the list')
    .description(
      'Test a model that is here and take it from the next start of the daemon on. What is stored is embedded anew in the background; search goes on meanwhile.',
    );
  addModelOptions(command);
  addExamples(command, [
    { command: 'memoryd models use bekko-a8m', purpose: 'one that was pulled' },
    { command: 'memoryd models use minilm', purpose: 'the built-in one again' },
  ]);
  command.action(async (model: string, options: ModelOptions) => {
    const config = configOf(options, context);
    const note = foreignChoice(config.embedder.kind);
    if (note) throw new CommandFailure(exitCodes.usage, note);
    await (await context.localModels({ config })).choose(model);
    if (options.json) return printJson(context.stdout, { chosen: model });
    printLine(context.stdout, `${model} is chosen. A daemon that runs takes it at its next start.`);
  });
}

/** Where a setting names the model, there is nothing to choose. */
function foreignChoice(kind: string): string | null {
  if (kind === 'chosen') return null;
  return `The setting embedder.kind is "${kind}", so nothing else is taken. Remove it, or set it to "chosen".`;
}

function addVerify(models: Command, context: CommandContext): void {
  const command = models
    .command('verify')
    .description('Load the embedding model and test its vectors. Needs no daemon.');
  addModelOptions(command);
  addExamples(command, [
    { command: 'memoryd models verify', purpose: 'the configured model' },
    { command: 'MEMORYD_EMBEDDER_KIND=hashing memoryd models verify', purpose: 'another one' },
  ]);
  command.action((options: ModelOptions) => verify(options, context));
}

async function verify(options: ModelOptions, context: CommandContext): Promise<void> {
  const report = await verifyEmbedder(options, context);
  if (options.json) printJson(context.stdout, report);
  else for (const line of formatReport(report, context.stdout)) printLine(context.stdout, line);
  if (!report.ok) throw new CommandFailure(exitCodes.failure, 'The embedding model did not pass its test.');
}

/** Loads the configured model, tests it and lets it go. */
export async function verifyEmbedder(
  options: Pick<ModelOptions, 'config' | 'dataDir'>,
  context: CommandContext,
): Promise<EmbedderReport> {
  const config = configOf(options, context);
  const { createLogger } = await import('../base/log.ts');
  const log = createLogger(config.logLevel === 'info' ? 'warn' : config.logLevel, context.stderr);
  const embedder = await context.createEmbedder({ config, clock: context.clock, log });
  try {
    return await embedder.verify();
  } finally {
    await embedder.close();
  }
}

function configOf({ config, dataDir }: ModelOptions, { env, cwd }: CommandContext) {
  return loadConfig({ configFile: config, flags: { dataDir }, env, cwd }).config;
}

/** Decimal, as hubs and disks count. */
function size(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

function formatReport(report: EmbedderReport, screen: Screen): string[] {
  const width = Math.max(0, ...report.checks.map(({ name }) => name.length));
  return [
    `${report.id} on ${report.runtime}`,
    ...report.checks.map(({ name, ok, detail }) => {
      const sign = ok ? paint(screen, 'green', 'ok    ') : paint(screen, 'red', 'failed');
      return `  ${sign}  ${name.padEnd(width)}  ${detail}`.trimEnd();
    }),
  ];
}
