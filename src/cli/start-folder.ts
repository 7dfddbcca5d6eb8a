import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MemorydError } from '../base/errors.ts';
import { everyContainer } from '../base/scope.ts';
import type { Connection, Connections } from '../connections/connections.ts';
import { printLine, type CommandContext } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { followProgress, progressSummary } from './progress.ts';
import { polledViews } from './progress-views.ts';
import type { StatusLine } from './status-line.ts';

export interface StartFolder {
  /** As the user wrote it. */
  label: string;
  /** Absolute. */
  path: string;
}

/** Before anything is started: throws a usage failure when it is no folder. */
export async function checkFolder(folder: string, cwd: string): Promise<StartFolder> {
  const path = resolve(cwd, folder);
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) return { label: folder, path };
  const what = found ? 'is not a folder' : 'does not exist';
  throw new CommandFailure(exitCodes.usage, `${path} ${what}.`, {
    remedy: 'memoryd start takes the path of a folder.',
  });
}

/**
 * Connects the folder unless it is connected already, and shows the progress of its first sync.
 * Returns when that is over; the folder stays mirrored. A sync that fails is shown and does not end
 * the daemon; throws when the folder cannot be connected at all.
 */
export async function mirrorFolder(
  connections: Connections,
  folder: StartFolder & { tag: string },
  line: StatusLine,
  context: CommandContext,
): Promise<void> {
  const { clock, signal, stderr } = context;
  const { connection, sinceRun } = await connectOnce(connections, folder);
  if (connection.status !== 'active') {
    printLine(stderr, `${folder.label} is ${connection.status}. \`memoryd resume ${connection.id}\` goes on with it.`);
    return;
  }
  const outcome = await followProgress({
    views: polledViews(() => connections.progress(connection.id), clock, signal),
    line,
    label: folder.label,
    clock,
    signal,
    ...(sinceRun === null ? {} : { sinceRun }),
  });
  if (!outcome) return;
  const [first, ...rest] = progressSummary(outcome.view, outcome.elapsedMs, connection.id);
  const lines = [`${folder.label}: ${first}. From now on changes are mirrored as they happen.`, ...rest];
  for (const text of lines) line.above(`${text}\n`);
}

interface Connected {
  connection: Pick<Connection, 'id' | 'status'>;
  /** The run to wait for; null: whichever comes first. */
  sinceRun: string | null;
}

async function connectOnce(connections: Connections, folder: StartFolder & { tag: string }): Promise<Connected> {
  const connection = (await connections.list(everyContainer, 'folder')).find(
    ({ config, containerTag }) => config['path'] === folder.path && containerTag === folder.tag,
  );
  if (!connection) {
    const input = { provider: 'folder', containerTag: folder.tag, metadata: { path: folder.path }, readsAnyPath: true };
    const { id } = await connections.create(input);
    return { connection: { id, status: 'active' }, sinceRun: null };
  }
  const sinceRun = connection.status === 'active' ? await requestSync(connections, connection.id) : null;
  return { connection, sinceRun };
}

async function requestSync(connections: Connections, id: string): Promise<string | null> {
  try {
    return (await connections.requestSync(id, { mode: 'incremental', trigger: 'manual' })).id;
  } catch (error) {
    // A sync that runs already serves as well.
    if (!MemorydError.is(error) || error.code !== 'conflict') throw error;
    return null;
  }
}
