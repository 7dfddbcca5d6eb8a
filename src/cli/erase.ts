import type { Command } from 'commander';
import { printJson, printLine, type CommandContext } from './context.ts';
import { openClient } from './daemon-access.ts';
import type { ErasureAnswer, ErasureBody } from './client.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { addClientOptions, addExamples, type ClientOptions, type Example } from './options.ts';
import { counted } from './text.ts';

interface EraseOptions extends ClientOptions {
  rewrite: boolean;
}

const lookEveryMs = 500;

export function addEraseCommand(program: Command, context: CommandContext): void {
  const erase = program
    .command('erase')
    .description('Erase content for good: it is in no file of the database afterwards. There is no way back.');
  addExamples(erase, [
    { command: 'memoryd erase document NhFgtsqwDtGuSptFDaYPo2', purpose: 'one document and what was learned from it' },
    { command: 'memoryd erase namespace user_mira --yes', purpose: 'everything of one user' },
    { command: 'memoryd erase deleted', purpose: 'what was deleted and forgotten before' },
  ]);
  addDocument(erase, context);
  addNamespace(erase, context);
  addDeleted(erase, context);
}

function addDocument(erase: Command, context: CommandContext): void {
  const command = erase
    .command('document')
    .description('Erase documents with the memories that only they stand for.')
    .argument('<id...>', 'their ids or customIds');
  addOptions(command, [{ command: 'memoryd erase document NhFgtsqwDtGuSptFDaYPo2', purpose: 'by its id' }]);
  command.action((documents: string[], options: EraseOptions) => run({ documents }, options, context));
}

function addNamespace(erase: Command, context: CommandContext): void {
  const command = erase
    .command('namespace')
    .alias('container')
    .description('Erase a namespace: documents, memories, connections and settings.')
    .argument('<name>', 'its name')
    .option('--yes', 'really');
  addOptions(command, [{ command: 'memoryd erase namespace user_mira --yes', purpose: 'everything of one user' }]);
  command.action(async (containerTag: string, options: EraseOptions & { yes?: boolean }) => {
    if (!options.yes) {
      throw new CommandFailure(exitCodes.usage, `This erases everything in ${containerTag}.`, {
        remedy: 'Add --yes to do it.',
      });
    }
    await run({ containerTag }, options, context);
  });
}

function addDeleted(erase: Command, context: CommandContext): void {
  const command = erase
    .command('deleted')
    .description('Erase all that was deleted and forgotten so far, in all namespaces.');
  addOptions(command, [{ command: 'memoryd erase deleted', purpose: 'files hold only what can be found' }]);
  command.action((options: EraseOptions) => run({ deleted: true }, options, context));
}

function addOptions(command: Command, examples: readonly Example[]): void {
  command.option('--no-rewrite', 'only delete rows; you rewrite the files of PostgreSQL yourself');
  addClientOptions(command, examples);
}

async function run(body: ErasureBody, options: EraseOptions, context: CommandContext): Promise<void> {
  const client = await openClient(options, context);
  let erasure = await client.erase({ ...body, rewrite: options.rewrite });
  if (erasure.status === 'rewriting' && !options.json) {
    printLine(context.stderr, `${removedOf(erasure)} gone. The files of the database are being rewritten …`);
  }
  while (erasure.status !== 'completed' && erasure.problem === null && !context.signal.aborted) {
    await context.clock.sleep(lookEveryMs, context.signal);
    erasure = await client.erasure(erasure.id);
  }
  if (options.json) printJson(context.stdout, erasure);
  if (erasure.status !== 'completed') {
    throw new CommandFailure(exitCodes.failure, erasure.problem ?? 'The files are still being rewritten.', {
      remedy: `The daemon goes on by itself; GET /v3/erasures/${erasure.id} says how far it is.`,
    });
  }
  if (options.json) return;
  printLine(context.stdout, `${removedOf(erasure)} erased.`);
  for (const line of erasure.left) printLine(context.stderr, `Left to you: ${line}`);
}

function removedOf({ documents, memories }: ErasureAnswer): string {
  return `${counted(documents, 'document')} and ${counted(memories, 'memory', 'memories')}`;
}
