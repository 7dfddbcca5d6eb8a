import { nearest } from '../base/did-you-mean.ts';
import type { ConnectionAnswer } from './client-connections.ts';
import { CommandFailure, exitCodes } from './exit.ts';

/**
 * The connections that a word on the command line means: an id, the unique beginning of one (4
 * characters or more), or a provider with all its connections. Throws a usage failure.
 */
export function chooseConnections(all: readonly ConnectionAnswer[], word: string): ConnectionAnswer[] {
  const exact = all.filter(({ id }) => id === word);
  if (exact.length > 0) return exact;
  const ofProvider = all.filter(({ provider }) => provider === word);
  if (ofProvider.length > 0) return ofProvider;
  const beginning = word.length >= 4 ? all.filter(({ id }) => id.startsWith(word)) : [];
  if (beginning.length === 1) return beginning;
  if (beginning.length > 1) throw usage(`${word} is the beginning of ${beginning.length} connections.`);
  const near = nearest(word, new Set(all.flatMap(({ id, provider }) => [id, provider])));
  throw usage(`There is no connection ${word}.${near ? ` Did you mean ${near}?` : ''}`);
}

/** The same for commands that act on exactly one; without a word the only one that there is. */
export function chooseConnection(all: readonly ConnectionAnswer[], word: string | undefined): ConnectionAnswer {
  if (word === undefined) return onlyOne(all);
  const [found, ...others] = chooseConnections(all, word);
  if (found && others.length === 0) return found;
  throw usage(`${word} has ${others.length + 1} connections: name one by its id.`);
}

function onlyOne(all: readonly ConnectionAnswer[]): ConnectionAnswer {
  const [only, ...others] = all;
  if (only && others.length === 0) return only;
  if (only) throw usage(`There are ${all.length} connections: name one.`);
  throw new CommandFailure(exitCodes.usage, 'Nothing is connected.', {
    remedy: '`memoryd connect folder ./notes` mirrors a folder.',
  });
}

function usage(message: string): CommandFailure {
  return new CommandFailure(exitCodes.usage, message, { remedy: '`memoryd connections` lists them.' });
}

type Named = Pick<ConnectionAnswer, 'id' | 'provider' | 'email' | 'metadata'>;

/** `folder /srv/notes`, or with its id where nothing says what it mirrors. */
export function nameOf(connection: Named): string {
  const target = targetOf(connection);
  return `${connection.provider} ${target === '-' ? connection.id : target}`;
}

/** The mirrored source in a few words: the folder, the account. */
export function targetOf(connection: Pick<Named, 'email' | 'metadata'>): string {
  const { path, repositories, host } = connection.metadata ?? {};
  const named = [path, repositories, connection.email, host].flat().filter((value) => typeof value === 'string');
  return named[0] ?? '-';
}
