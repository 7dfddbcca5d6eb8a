import type { Command } from 'commander';
import { describeConfig, loadConfig, type ConfigRow } from '../base/config.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { addExamples, addJsonOption, type JsonOption } from './options.ts';
import { table } from './text.ts';

interface ConfigOptions extends JsonOption {
  config?: string;
}

export function addConfigCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('config')
    .description('Show every setting, its value and where that comes from. Secrets are masked.')
    .option('--config <file>', 'configuration file (default: memoryd.config.json)');
  addJsonOption(command);
  addExamples(command, [
    { command: 'memoryd config', purpose: 'effective values' },
    { command: 'MEMORYD_PORT=8080 memoryd config --json', purpose: 'what a variable would change' },
  ]);
  command.action((options: ConfigOptions) => {
    const loaded = loadConfig({ configFile: options.config, env: context.env, cwd: context.cwd });
    const rows = describeConfig(loaded);
    if (options.json) return printJson(context.stdout, { file: loaded.file, settings: bySetting(rows) });
    const cells = rows.map((row) => [row.field, shown(row.value), row.source === 'default' ? '' : row.source]);
    // A value that is cut would be of no use, so lines may be longer than the terminal.
    for (const line of table(['SETTING', 'VALUE', 'FROM'], cells, Infinity)) printLine(context.stdout, line);
  });
}

function bySetting(rows: ConfigRow[]): Record<string, { value: unknown; source: string }> {
  return Object.fromEntries(rows.map(({ field, value, source }) => [field, { value, source }]));
}

function shown(value: unknown): string {
  if (value === null) return '-';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
