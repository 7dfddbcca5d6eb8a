import type { Command } from 'commander';
import { loadConfig } from '../base/config.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { isAlive, readDaemonFile } from './daemon-file.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addExamples, addJsonOption, type JsonOption } from './options.ts';

interface RotateOptions extends JsonOption {
  config?: string;
  dataDir?: string;
  discardUnreadable?: boolean;
}

export function addEncryptionCommand(program: Command, context: CommandContext): void {
  const encryption = program
    .command('encryption')
    .description('Manage the key that stored credentials are encrypted with.');
  addExamples(encryption, [{ command: 'memoryd encryption rotate', purpose: 'replace the key' }]);
  const command = encryption
    .command('rotate')
    .description(
      'Encrypt every stored credential anew: with encryptionKey of the configuration, whose predecessor stands in encryptionKeyPrevious, else with a new key in the data directory. Can be interrupted and repeated.',
    )
    .option('--data-dir <path>', 'data directory of the daemon')
    .option('--config <file>', 'configuration file (default: memoryd.config.json)')
    .option(
      '--discard-unreadable',
      'the old key is lost: erase what it encrypted; those connections must be authorized again',
    );
  addJsonOption(command);
  addExamples(command, [
    { command: 'memoryd encryption rotate', purpose: 'a new key; stop the daemon first' },
    {
      command: 'MEMORYD_ENCRYPTION_KEY=… MEMORYD_ENCRYPTION_KEY_PREVIOUS=… memoryd encryption rotate',
      purpose: 'keys of the configuration; daemons with both keys may run',
    },
  ]);
  command.action((options: RotateOptions) => rotate(options, context));
}

async function rotate(options: RotateOptions, context: CommandContext): Promise<void> {
  const { env, cwd, clock, stdout, stderr } = context;
  const { config } = loadConfig({ flags: { dataDir: options.dataDir }, configFile: options.config, env, cwd });
  const ownsKey = config.encryptionKey === undefined;
  if (ownsKey) await refuseWhileRunning(config.dataDir);
  const { createLogger } = await import('../base/log.ts');
  const log = createLogger('warn', { write: (line) => stderr.write(line) });
  const report = await context.rotateKeys({ config, clock, log }, options.discardUnreadable === true);
  if (options.json) return printJson(stdout, report);
  printLine(stdout, `${report.resealed} secrets are encrypted with the key ${report.keyId} now.`);
  if (report.discarded > 0) {
    printLine(stdout, `${report.discarded} could not be read and were erased: authorize those connections again.`);
  }
  const leftover = ownsKey ? '' : ' Remove encryptionKeyPrevious from the configuration.';
  printLine(stdout, `The key before it is needed no more.${leftover}`);
}

/** A daemon holds its key in memory, and would not know the new one. */
async function refuseWhileRunning(dataDir: string): Promise<void> {
  const daemon = await readDaemonFile(dataDir);
  if (!daemon || !isAlive(daemon.pid)) return;
  throw new CommandFailure(exitCodes.failure, `A daemon runs with this data directory (process ${daemon.pid}).`, {
    remedy: 'Stop it, rotate the key, and start it again.',
  });
}
