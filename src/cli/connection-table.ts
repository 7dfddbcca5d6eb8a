import { at } from '../base/collections.ts';
import { problemNote } from '../base/checks.ts';
import type { Client } from './client.ts';
import type { ConnectionAnswer, ProgressAnswer } from './client-connections.ts';
import { targetOf } from './connection-choice.ts';
import { CommandFailure } from './exit.ts';
import { heldNote } from './progress.ts';
import { counted, localTime, shortIds, table } from './text.ts';

export interface ConnectionState {
  connection: ConnectionAnswer;
  /** Null when it was disconnected meanwhile. */
  progress: Pick<ProgressAnswer, 'items' | 'documents' | 'heldDeletes'> | null;
}

/** The connections with the progress of each: one request per connection. */
export function connectionStates(client: Client, all: readonly ConnectionAnswer[]): Promise<ConnectionState[]> {
  return Promise.all(
    all.map(async (connection) => ({ connection, progress: await progressIfThere(client, connection.id) })),
  );
}

async function progressIfThere(client: Client, id: string): Promise<ProgressAnswer | null> {
  try {
    return await client.progress(id);
  } catch (error) {
    if (error instanceof CommandFailure && error.status === 404) return null;
    throw error;
  }
}

/** A terminal with fewer columns has no room for the namespace, which `connections show` tells. */
const roomForNamespace = 100;

/**
 * One row per connection, and below what needs a person, with what to do about it. Programs get whole ids, terminals
 * as much of them as tells them apart.
 */
export function connectionTable(states: readonly ConnectionState[], columns: number): string[] {
  const all = states.map(({ connection }) => connection.id);
  const ids = columns === Infinity ? all : shortIds(all);
  const isWide = columns >= roomForNamespace;
  const rows = states.map(({ connection, progress }, index) => [
    at(ids, index),
    connection.provider,
    ...(isWide ? [connection.containerTag] : []),
    stateOf(connection),
    String(connection.documentCount),
    progress ? String(progress.items.failed) : '-',
    localTime(connection.lastSyncRun?.completedAt),
    targetOf(connection),
  ]);
  const notes = states.flatMap((state, index) => notesOf(state, at(ids, index)).map((note) => [at(ids, index), note]));
  const headings = [
    'ID',
    'PROVIDER',
    ...(isWide ? ['NAMESPACE'] : []),
    'STATE',
    'DOCS',
    'FAILED',
    'LAST SYNC',
    'TARGET',
  ];
  const cuttable = isWide ? [2, 3] : [2];
  return [
    ...table(headings, rows, columns, { cuttable }),
    // Half a command or reason would be of no use, so these lines may be longer than the terminal.
    ...(notes.length > 0 ? ['', ...table(['ID', 'NOTE'], notes, Infinity)] : []),
  ];
}

/** With commands that name the connection by its shown id. */
function notesOf({ connection, progress }: ConnectionState, id: string): string[] {
  const notes: string[] = [];
  const reason = whyNot(connection);
  if (reason) notes.push(reason);
  const news = connection.problems?.filter((problem) => !reason?.includes(problem.reason));
  notes.push(...(news ?? []).map(problemNote));
  if (!progress) return notes;
  if (progress.heldDeletes > 0) notes.push(heldNote(progress.heldDeletes, id));
  const counts = [
    ...(progress.items.failed > 0 ? [`${counted(progress.items.failed, 'item')} failed`] : []),
    ...(progress.items.skipped > 0 ? [`${counted(progress.items.skipped, 'item')} skipped`] : []),
  ];
  if (counts.length > 0) notes.push(`${counts.join(', ')}: see \`memoryd failures ${id}\`.`);
  return notes;
}

/** Why it does not sync, or its last sync ended early. */
function whyNot({ status, statusReason, lastSyncRun }: ConnectionAnswer): string | null | undefined {
  if (status !== 'active') return statusReason;
  return lastSyncRun?.status === 'failed'
    ? `${(lastSyncRun.error ?? 'The sync failed').replace(/[^.!?]$/, '$&.')} Its documents stay searchable.`
    : null;
}

function stateOf(connection: ConnectionAnswer): string {
  const run = connection.lastSyncRun?.status;
  if (connection.status !== 'active') return connection.status;
  return run === 'running' ? 'syncing' : run === 'failed' ? 'sync failed' : 'active';
}
