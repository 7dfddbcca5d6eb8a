import type { Command } from 'commander';
import { chooseConnection } from './connection-choice.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';

const verbs = {
  pause: { paused: true, description: 'Stop syncing a connection; its documents stay searchable.', done: 'Paused' },
  resume: { paused: false, description: 'Sync a paused connection again.', done: 'Resumed' },
} as const;

export function addPauseCommand(program: Command, context: CommandContext): void {
  addVerb('pause', program, context);
}

export function addResumeCommand(program: Command, context: CommandContext): void {
  addVerb('resume', program, context);
}

function addVerb(name: keyof typeof verbs, program: Command, context: CommandContext): void {
  const { paused, description, done } = verbs[name];
  const command = program
    .command(name)
    .description(description)
    .argument('<id>', 'the connection: its id, the beginning of it, or the provider when it has only one');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [{ command: `memoryd ${name} nTPk`, purpose: 'by the beginning of its id' }]);
  command.action(async (word: string, options: DaemonOptions & JsonOption) => {
    const client = await openClient(options, context);
    const { id } = chooseConnection(await client.connections(), word);
    const connection = await client.setPaused(id, paused);
    if (options.json) return printJson(context.stdout, connection);
    printLine(context.stdout, `${done} ${connection.provider} ${connection.id}.`);
  });
}

export function addCancelCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('cancel')
    .description(
      'End the sync of a connection that runs now. What it has stored stays; the next one goes on from there.',
    )
    .argument('<id>', 'the connection: its id, the beginning of it, or the provider when it has only one');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [{ command: 'memoryd cancel nTPk', purpose: 'by the beginning of its id' }]);
  command.action(async (word: string, options: DaemonOptions & JsonOption) => {
    const client = await openClient(options, context);
    const connection = chooseConnection(await client.connections(), word);
    const run = await client.cancel(connection.id);
    if (options.json) return printJson(context.stdout, run);
    printLine(context.stdout, `Cancelled the sync ${run.id} of ${connection.provider} ${connection.id}.`);
  });
}
