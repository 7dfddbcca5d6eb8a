import type { Command } from 'commander';
import { chooseConnection } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';

interface DisconnectOptions extends DaemonOptions, JsonOption {
  keepDocuments?: boolean;
}

export function addDisconnectCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('disconnect')
    .description('Stop mirroring a source and forget its documents. The source itself is not touched.')
    .argument('<id>', 'the connection: its id, the beginning of it, or the provider when it has only one')
    .option('--keep-documents', 'go on remembering what was mirrored');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    { command: 'memoryd disconnect nTPk', purpose: 'by the beginning of its id' },
    { command: 'memoryd disconnect folder --keep-documents', purpose: 'the only folder; its documents stay' },
  ]);
  command.action(async (word: string, options: DisconnectOptions) => {
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    const answer = await client.disconnect(connection.id, options.keepDocuments !== true);
    if (options.json) return printJson(context.stdout, answer);
    const documents = options.keepDocuments ? 'Its documents stay.' : 'Its documents are being deleted.';
    printLine(context.stdout, `Disconnected ${connection.provider} ${connection.id}. ${documents}`);
  });
}
