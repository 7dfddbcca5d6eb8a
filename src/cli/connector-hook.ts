import type { Command } from 'commander';
import type { Client, SharedHookAnswer } from './client.ts';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import { addDaemonOptions, addExamples, addJsonOption, type DaemonOptions, type JsonOption } from './options.ts';

interface HookOptions extends DaemonOptions, JsonOption {
  accept?: string;
  forget?: boolean;
}

export function addHookCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('hook')
    .description('The hook of a source that makes its secret by itself: where it sends to, and what it offers.')
    .argument('<connector>', 'name of a connector')
    .option('--accept <secret>', 'take this secret, which the source offers')
    .option('--forget', 'take no hooks any more until the source has offered another secret');
  addDaemonOptions(addJsonOption(command));
  addExamples(command, [
    {
      command: 'memoryd connector hook notion',
      purpose: 'the address for the subscription, then the token to verify it',
    },
    { command: 'memoryd connector hook notion --accept secret_x', purpose: 'takes what is signed with it from now on' },
  ]);
  command.action(async (name: string, options: HookOptions) => {
    const client = await openClient(options, context);
    const hook = await ask(client, name, options);
    if (options.json) printJson(context.stdout, hook);
    else for (const line of linesOf(name, hook)) printLine(context.stdout, line);
  });
}

function ask(client: Client, name: string, { accept, forget }: HookOptions): Promise<SharedHookAnswer> {
  if (accept !== undefined) return client.acceptHook(name, accept);
  return forget === true ? client.forgetHook(name) : client.hook(name);
}

function linesOf(name: string, { address, state, offered }: SharedHookAnswer): string[] {
  const where = address ?? `<your public address>/v3/hooks/${name} (set publicUrl, so that sources reach this daemon)`;
  if (state === 'set') return [`Address: ${where}`, 'Its hooks are taken.'];
  if (offered === null)
    return [`Address: ${where}`, 'The source has offered no secret yet: subscribe it to this address.'];
  return [
    `Address: ${where}`,
    `Offered at ${offered.at}: ${offered.secret}`,
    'Anybody can send one. Show it to the source; when the source takes it, so may you:',
    `  memoryd connector hook ${name} --accept ${offered.secret}`,
  ];
}
