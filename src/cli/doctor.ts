import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../base/config.ts';
import { silentLogger } from '../base/log.ts';
import { loadPlugins } from '../connect/plugins.ts';
import { builtInNames } from '../connect/registry.ts';
import { paint, printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { CommandFailure, exitCodes, reportFailure } from './exit.ts';
import { verifyEmbedder } from './models.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';

interface Finding {
  name: string;
  ok: boolean;
  detail: string;
}

export function addDoctorCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('doctor')
    .description('Check this machine: Node, configuration, data directory, connectors, model, daemon.');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd doctor', purpose: 'one line per check' },
    { command: 'memoryd doctor --json', purpose: 'to attach to a bug report; holds no secrets' },
  ]);
  command.action(async (options: DaemonOptions & JsonOption) => {
    const findings = await examine(options, context);
    if (options.json) printJson(context.stdout, findings);
    else for (const finding of findings) printFinding(finding, context);
    if (findings.some(({ ok }) => !ok)) throw new CommandFailure(exitCodes.failure, 'Not everything is in order.');
  });
}

async function examine(options: DaemonOptions, context: CommandContext): Promise<Finding[]> {
  const configured = async () => {
    const { env, cwd } = context;
    const inputs = { configFile: options.config, flags: { dataDir: options.dataDir }, env, cwd };
    return loadConfig(inputs);
  };
  return [
    await look('node', async () => `${process.version} at ${process.execPath}`),
    await look('configuration', async () => (await configured()).file ?? 'no file, defaults and environment'),
    await look('data directory', async () => dataDirectory((await configured()).config.dataDir)),
    await look('connectors', async () => connectors((await configured()).config.connectors, context)),
    await look('model', async () => model(options, context)),
    await look('daemon', async () => daemon(options, context)),
  ];
}

async function look(name: string, examineIt: () => Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, detail: await examineIt() };
  } catch (error) {
    const { message, details } = reportFailure(error);
    return { name, ok: false, detail: [message, details].filter(Boolean).join(' ') };
  }
}

async function dataDirectory(path: string): Promise<string> {
  const { existing, missing } = await nearestExisting(path);
  await access(existing, constants.R_OK | constants.W_OK);
  const { bavail, bsize } = await statfs(existing);
  const gibibytes = (bavail * bsize) / 2 ** 30;
  if (gibibytes < 0.5) throw new CommandFailure(exitCodes.failure, `${path}: less than half a GiB is free.`);
  return `${path}${missing ? ' (not made yet)' : ''}, ${gibibytes.toFixed(1)} GiB free`;
}

/** The directory itself, or the one in which it would be made. */
async function nearestExisting(path: string): Promise<{ existing: string; missing: boolean }> {
  for (let candidate = path; ; candidate = dirname(candidate)) {
    try {
      await access(candidate);
      return { existing: candidate, missing: candidate !== path };
    } catch (error) {
      if (candidate === dirname(candidate)) throw error;
    }
  }
}

/** Loads the plugins as the daemon does. */
async function connectors(names: readonly string[], { cwd, clock }: CommandContext): Promise<string> {
  const { loaders, broken } = await loadPlugins(names, {
    folder: cwd,
    builtIn: builtInNames,
    log: silentLogger,
    clock,
  });
  if (broken.length > 0) {
    const reasons = broken.map(({ plugin, reason }) => `${plugin}: ${reason}`);
    throw new CommandFailure(exitCodes.failure, reasons.join(' '));
  }
  return [...builtInNames, ...Object.keys(loaders)].join(', ');
}

async function model(options: DaemonOptions, context: CommandContext): Promise<string> {
  const report = await verifyEmbedder(options, context);
  const failed = report.checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
  if (!report.ok) throw new CommandFailure(exitCodes.failure, failed.join('; '));
  return `${report.id} on ${report.runtime}`;
}

/** No daemon is no fault: it may just not be started. */
async function daemon(options: DaemonOptions, context: CommandContext): Promise<string> {
  try {
    const client = await openClient(options, context);
    return `${(await client.status()).version} at ${client.url}`;
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === exitCodes.noDaemon) return error.message;
    throw error;
  }
}

function printFinding({ name, ok, detail }: Finding, context: CommandContext): void {
  const sign = ok ? paint(context.stdout, 'green', 'ok    ') : paint(context.stdout, 'red', 'failed');
  printLine(context.stdout, `${sign}  ${name.padEnd(14)}  ${detail}`);
}
