import type { Command } from 'commander';
import {
  checkConfiguration,
  checkConnections,
  checkConnectors,
  checkDataDirectory,
  checkModel,
  nodeCheck,
  noLanguageModel,
  runChecks,
  type HealthCheck,
  type Finding,
} from '../base/checks.ts';
import { loadConfig } from '../base/config.ts';
import { paint, printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes, reportFailure } from './exit.ts';
import { verifyEmbedder } from './models.ts';
import { addClientOptions, type ClientOptions, type DaemonOptions } from './options.ts';

export function addDoctorCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('doctor')
    .description('Check this machine: Node, configuration, data directory, connectors, model, daemon, connections.');
  addClientOptions(command, [
    { command: 'memoryd doctor', purpose: 'one line per check' },
    { command: 'memoryd doctor --json', purpose: 'to attach to a bug report; holds no secrets' },
  ]);
  command.action(async (options: ClientOptions) => {
    const findings = await examine(options, context);
    if (options.json) printJson(context.stdout, findings);
    else for (const finding of findings) printFinding(finding, context);
    if (findings.some(({ ok }) => !ok)) throw new CommandFailure(exitCodes.failure, 'Not everything is in order.');
  });
}

async function examine(options: DaemonOptions, context: CommandContext): Promise<Finding[]> {
  const configured = () => {
    const { env, cwd } = context;
    return loadConfig({ configFile: options.config, flags: { dataDir: options.dataDir }, env, cwd });
  };
  const checks: Record<string, HealthCheck> = {
    node: nodeCheck,
    configuration() {
      const { config, file } = configured();
      return checkConfiguration(config, file ?? 'no file, defaults and environment');
    },
    'data directory': () => checkDataDirectory(configured().config.dataDir),
    connectors: () => connectors(configured().config.connectors, context),
    model: async () => checkModel(await verifyEmbedder(options, context)),
    'language model': () => languageModel(options, context),
    daemon: () => daemon(options, context),
    connections: () => connections(options, context),
  };
  return runChecks(checks, reportFailure);
}

/** Loads the plugins as the daemon does. What that takes is loaded here, because every command waits for this file. */
async function connectors(names: readonly string[], { cwd, clock }: CommandContext): Promise<string> {
  const [{ loadPlugins }, { builtInNames }, { silentLogger }] = await Promise.all([
    import('../connector/plugins.ts'),
    import('../connector/registry.ts'),
    import('../base/log.ts'),
  ]);
  const { loaders, broken } = await loadPlugins(names, {
    folder: cwd,
    builtIn: builtInNames,
    log: silentLogger,
    clock,
  });
  return checkConnectors([...builtInNames, ...Object.keys(loaders)], broken);
}

async function languageModel(options: DaemonOptions, { env, cwd, clock, ...context }: CommandContext): Promise<string> {
  const { config } = loadConfig({ configFile: options.config, env, cwd });
  const { silentLogger } = await import('../base/log.ts');
  const id = await context.tryLanguageModel({ config, clock, log: silentLogger });
  return id === null ? noLanguageModel : `${id} answers`;
}

async function daemon(options: DaemonOptions, context: CommandContext): Promise<string> {
  return ifRunning(async () => {
    const client = await openClient(options, context);
    return `${(await client.status()).version} at ${client.url}`;
  });
}

async function connections(options: DaemonOptions, context: CommandContext): Promise<string> {
  return ifRunning(async () => checkConnections(await (await openClient(options, context)).connections()));
}

/** No daemon is no fault: it may just not be started. */
async function ifRunning(examineIt: () => Promise<string>): Promise<string> {
  try {
    return await examineIt();
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === exitCodes.noDaemon) return error.message;
    throw error;
  }
}

function printFinding({ name, ok, detail, remedy }: Finding, context: CommandContext): void {
  const sign = ok ? paint(context.stdout, 'green', 'ok    ') : paint(context.stdout, 'red', 'failed');
  printLine(context.stdout, `${sign}  ${name.padEnd(14)}  ${detail}`);
  if (remedy) printLine(context.stdout, `${' '.repeat(24)}${remedy}`);
}
