import type { Command } from 'commander';
import { loadConfig } from '../base/config.ts';
import { createLogger } from '../base/log.ts';
import { paint, printJson, printLine, type CommandContext, type EmbedderReport, type Screen } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addExamples, addJsonOption, type JsonOption } from './options.ts';

interface VerifyOptions extends JsonOption {
  config?: string;
}

export function addModelsCommand(program: Command, context: CommandContext): void {
  const models = program.command('models').description('Look after the models that memory is made with.');
  addExamples(models, [{ command: 'memoryd models verify', purpose: 'test the embedding model' }]);
  const command = models
    .command('verify')
    .description('Load the embedding model and test its vectors. Needs no daemon.')
    .option('--config <file>', 'configuration file (default: memoryd.config.json)');
  addJsonOption(command);
  addExamples(command, [
    { command: 'memoryd models verify', purpose: 'the configured model' },
    { command: 'MEMORYD_EMBEDDER_KIND=hashing memoryd models verify', purpose: 'another one' },
  ]);
  command.action((options: VerifyOptions) => verify(options, context));
}

async function verify(options: VerifyOptions, context: CommandContext): Promise<void> {
  const report = await verifyEmbedder(options, context);
  if (options.json) printJson(context.stdout, report);
  else for (const line of formatReport(report, context.stdout)) printLine(context.stdout, line);
  if (!report.ok) throw new CommandFailure(exitCodes.failure, 'The embedding model did not pass its test.');
}

/** Loads the configured model, tests it and lets it go. */
export async function verifyEmbedder(options: { config?: string }, context: CommandContext): Promise<EmbedderReport> {
  const { config } = loadConfig({ configFile: options.config, env: context.env, cwd: context.cwd });
  const log = createLogger(config.logLevel === 'info' ? 'warn' : config.logLevel, context.stderr);
  const embedder = await context.createEmbedder({ config, clock: context.clock, log });
  try {
    return await embedder.verify();
  } finally {
    await embedder.close();
  }
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
