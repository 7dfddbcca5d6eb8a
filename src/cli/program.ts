import { Command, CommanderError } from 'commander';
import { addAddCommand } from './add.ts';
import { addCheckCommand } from './check.ts';
import { addConfigCommand } from './config.ts';
import { addConnectCommand } from './connect.ts';
import {
  addCancelCommand,
  addConnectionsCommand,
  addDisconnectCommand,
  addPauseCommand,
  addResumeCommand,
} from './connections.ts';
import { addConnectorCommand } from './connector.ts';
import { addConsoleCommand, addOpenCommand } from './console.ts';
import { paint, printJson, printLine, type CommandContext, type Screen } from './context.ts';
import { addDoctorCommand } from './doctor.ts';
import { addEncryptionCommand } from './encryption.ts';
import { addBackupCommand } from './backup.ts';
import { addEraseCommand } from './erase.ts';
import { exitCodes, reportFailure } from './exit.ts';
import { addFailuresCommand, addRetryCommand } from './failures.ts';
import { addImportCommand } from './import.ts';
import { addItemsCommand } from './items.ts';
import { addKeysCommand } from './keys.ts';
import { addMcpCommand } from './mcp.ts';
import { addMemoriesCommand } from './memories.ts';
import { addModelsCommand } from './models.ts';
import { addExamples } from './options.ts';
import { addQuotaCommand } from './quota.ts';
import { addRunsCommand } from './runs.ts';
import { addPushCommand } from './push.ts';
import { addSearchCommand } from './search.ts';
import { addStartCommand } from './start.ts';
import { addStatusCommand } from './status.ts';
import { addSyncCommand } from './sync.ts';

/** Every command, ready to parse. Throws `CommanderError` instead of ending the process. */
export function buildProgram(context: CommandContext): Command {
  const { stdout, stderr } = context;
  const program = new Command('memoryd')
    .description('Keeps your sources mirrored into AI memory, and serves that memory over an HTTP API.')
    .version(context.version, '-V, --version')
    .exitOverride()
    .showHelpAfterError('Add --help to see how it is used.')
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => stdout.columns,
      getErrHelpWidth: () => stderr.columns,
      getOutHasColors: () => stdout.color,
      getErrHasColors: () => stderr.color,
    })
    .configureHelp({ styleTitle: (text) => paint(stdout, 'bold', text) });
  addExamples(program, [
    { command: 'memoryd start ./notes', purpose: 'run the daemon and mirror a folder' },
    { command: 'memoryd search what did we decide', purpose: 'search, from another terminal' },
  ]);
  program.commandsGroup('Run:');
  addStartCommand(program, context);
  addOpenCommand(program, context);
  addConsoleCommand(program, context);
  addStatusCommand(program, context);
  addConfigCommand(program, context);
  addDoctorCommand(program, context);
  addModelsCommand(program, context);
  addEncryptionCommand(program, context);
  addBackupCommand(program, context);
  program.commandsGroup('Sources:');
  addConnectCommand(program, context);
  addConnectionsCommand(program, context);
  addCheckCommand(program, context);
  addFailuresCommand(program, context);
  addItemsCommand(program, context);
  addRetryCommand(program, context);
  addSyncCommand(program, context);
  addPushCommand(program, context);
  addRunsCommand(program, context);
  addPauseCommand(program, context);
  addResumeCommand(program, context);
  addCancelCommand(program, context);
  addDisconnectCommand(program, context);
  addConnectorCommand(program, context);
  program.commandsGroup('Memory:');
  addSearchCommand(program, context);
  addAddCommand(program, context);
  addImportCommand(program, context);
  addMemoriesCommand(program, context);
  addEraseCommand(program, context);
  addMcpCommand(program, context);
  addKeysCommand(program, context);
  addQuotaCommand(program, context);
  return program;
}

/**
 * Runs one command line (without the names of node and the script) and answers the exit code.
 * Never throws: failures are explained on stderr, and with `--json` also as `{error, details?}` on
 * stdout when nothing stands there yet.
 */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  const stdout = countingScreen(context.stdout);
  try {
    await buildProgram({ ...context, stdout }).parseAsync(args, { from: 'user' });
    return exitCodes.success;
  } catch (error) {
    // Commander has already said what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
    const { exitCode, message, details } = reportFailure(error);
    if (args.includes('--json') && stdout.writes() === 0)
      printJson(stdout, { error: message, details: details || undefined });
    printLine(context.stderr, `${paint(context.stderr, 'red', 'memoryd:')} ${message}`);
    if (details) printLine(context.stderr, details);
    return exitCode;
  }
}

function countingScreen(screen: Screen): Screen & { writes(): number } {
  let writes = 0;
  return {
    isTTY: screen.isTTY,
    color: screen.color,
    get columns() {
      return screen.columns;
    },
    write(text) {
      writes += 1;
      screen.write(text);
    },
    writes: () => writes,
  };
}
