import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { loadConfig, type LoadedConfig } from '../base/config.ts';
import { silentLogger } from '../base/log.ts';
import { openToOthers } from '../base/private-files.ts';
import { slownessOf } from '../base/slow-runtime.ts';
import { risksOf } from '../base/risks.ts';
import { loadPlugins } from '../connector/plugins.ts';
import { builtInNames } from '../connector/registry.ts';
import { paint, printJson, printLine, type CommandContext } from './context.ts';
import type { ConnectionAnswer } from './client.ts';
import { problemNotes } from './connection-table.ts';
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
    .description('Check this machine: Node, configuration, data directory, connectors, model, daemon, connections.');
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
    await look('configuration', async () => checkedConfiguration(await configured())),
    await look('data directory', async () => dataDirectory((await configured()).config.dataDir)),
    await look('connectors', async () => connectors((await configured()).config.connectors, context)),
    await look('model', async () => model(options, context)),
    await look('language model', async () => languageModel(options, context)),
    await look('daemon', async () => daemon(options, context)),
    await look('connections', async () => connections(options, context)),
  ];
}

function checkedConfiguration({ config, file }: LoadedConfig): string {
  const risks = risksOf(config);
  if (risks.length > 0) throw new CommandFailure(exitCodes.failure, risks.join(' '));
  return file ?? 'no file, defaults and environment';
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
  const [open] = missing ? [] : await openToOthers(path);
  if (open) {
    const mode = open.mode.toString(8).padStart(4, '0');
    throw new CommandFailure(
      exitCodes.failure,
      `${open.path} can be read by other users of this machine (mode ${mode}). The next start of the daemon mends it; until then: chmod -R go-rwx ${path}`,
    );
  }
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
  const slowness = slownessOf(report.runtime);
  return `${report.id} on ${report.runtime}${slowness ? `. ${slowness}` : ''}`;
}

/** None is no fault: the rules need none. */
async function languageModel(options: DaemonOptions, { env, cwd, clock, ...context }: CommandContext): Promise<string> {
  const { config } = loadConfig({ configFile: options.config, env, cwd });
  const id = await context.tryLanguageModel({ config, clock, log: silentLogger });
  return id === null ? 'not configured, memories are found by rules' : `${id} answers`;
}

async function daemon(options: DaemonOptions, context: CommandContext): Promise<string> {
  return ifRunning(async () => {
    const client = await openClient(options, context);
    return `${(await client.status()).version} at ${client.url}`;
  });
}

/** What of a source is not mirrored, or only late, although nobody has asked for that. */
async function connections(options: DaemonOptions, context: CommandContext): Promise<string> {
  return ifRunning(async () => {
    const all = await (await openClient(options, context)).connections();
    const notes = all.flatMap((one) =>
      [...needOf(one), ...problemNotes(one.problems)].map((note) => `${one.id}: ${note}`),
    );
    if (notes.length > 0) throw new CommandFailure(exitCodes.failure, notes.join(' '));
    return all.length === 0 ? 'none' : `${all.length}, all of them can be read`;
  });
}

function needOf({ status, statusReason }: ConnectionAnswer): string[] {
  return status === 'needs_reauth' || status === 'needs_configuration' ? [statusReason ?? status] : [];
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

function printFinding({ name, ok, detail }: Finding, context: CommandContext): void {
  const sign = ok ? paint(context.stdout, 'green', 'ok    ') : paint(context.stdout, 'red', 'failed');
  printLine(context.stdout, `${sign}  ${name.padEnd(14)}  ${detail}`);
}
