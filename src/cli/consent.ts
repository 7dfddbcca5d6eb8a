import type { CallbackParameters, Client, StartedAuthorization } from './client.ts';
import { printLine, type CommandContext } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';

export interface ConsentOptions {
  provider: string;
  /** The user brings the answer by hand, because the browser does not reach the daemon. */
  paste: boolean;
}

const pollEveryMs = 1_000;

/** Shows where to give consent, and waits until that is done. Throws `failure` when it was not given. */
export async function waitForConsent(
  client: Client,
  started: StartedAuthorization & { authLink: string },
  { provider, paste }: ConsentOptions,
  context: CommandContext,
): Promise<void> {
  const { stdout, stderr } = context;
  printLine(stderr, 'Open this address in a browser and allow the access:');
  printLine(stdout, started.authLink);
  if (paste) return completeByHand(client, started.authLink, provider, context);
  printLine(stderr, 'Waiting for the browser to come back. If it cannot reach the daemon, begin again with --paste.');
  await pollConsent(client, started.id, context);
}

async function pollConsent(client: Client, id: string, { clock, signal }: CommandContext): Promise<void> {
  while (!signal.aborted) {
    const { status } = await client.authorization(id);
    if (status === 'connected') return;
    if (status !== 'pending') throw new CommandFailure(exitCodes.failure, failures[status]);
    await clock.sleep(pollEveryMs, signal);
  }
  throw new CommandFailure(exitCodes.interrupted, 'Stopped waiting. The link still works for the rest of its hour.');
}

const failures = {
  access_denied: 'The access was not allowed.',
  exchange_failed: 'The source could not give the access.',
  expired: 'The link has expired. Begin again.',
} as const;

async function completeByHand(
  client: Client,
  authLink: string,
  provider: string,
  context: CommandContext,
): Promise<void> {
  const { stderr, ask } = context;
  printLine(
    stderr,
    'The browser ends at an address that may not load. Paste that whole address here, or the code in it.',
  );
  const pasted = ask ? await ask('Address or code: ', { hidden: false }) : await context.readInput();
  await client.completeAuthorization(provider, readPasted(pasted, authLink));
}

/** What a pasted address or code says. Throws a usage failure for one that belongs to another link. */
function readPasted(pasted: string, authLink: string): CallbackParameters {
  const text = pasted.trim();
  const state = new URL(authLink).searchParams.get('state') ?? '';
  if (!/(?:^|[?&])(?:code|error|state)=/.test(text)) {
    if (text !== '' && !/[\s:?]/.test(text)) return { state, code: text };
    throw unusable('That is neither the address nor a code.');
  }
  const query = new URLSearchParams(text.replace(/^[^?]*\?/, '').replace(/#.*$/, ''));
  if (query.get('state') !== state) throw unusable('That address belongs to another link.');
  const [code, error] = [query.get('code'), query.get('error')];
  if (error) return { state, error };
  if (code) return { state, code };
  throw unusable('That address has no code.');
}

function unusable(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, message, {
    remedy: 'Copy the whole address of the page that the browser ended at. Nothing was connected.',
  });
}
