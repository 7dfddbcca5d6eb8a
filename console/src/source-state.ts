import type { Tone } from './tone.ts';
import { texts } from './texts.ts';
import type { Connection } from './types.ts';

/** What a source is called: the one thing that tells it from others of its kind. */
export function sourceName({ provider, email, metadata, selection }: Connection, displayName?: string): string {
  const { path, user, host, name, repositories } = metadata;
  const chosen = namesOf(selection.map((each) => each.name));
  const own = [email, path, user, namesOf(repositories), chosen, host, name];
  const telling = own.find((value) => typeof value === 'string' && value !== '');
  return typeof telling === 'string' ? telling : (displayName ?? provider);
}

const mostNames = 3;

function namesOf(value: unknown): string | undefined {
  const names = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
  if (names.length <= mostNames) return names.join(', ');
  return texts.sources.andMore(names.slice(0, mostNames).join(', '), names.length - mostNames);
}

export interface SourceState {
  tone: Tone;
  text: string;
  /** Why it needs a hand. */
  reason?: string | undefined;
}

/** Deletions that are held back, and documents that are not searchable yet. */
type Standing = Partial<Pick<NonNullable<Connection['standing']>, 'heldDeletes' | 'waiting'>>;

/** Running is never called an error, whatever the run before it was. */
export function sourceState(connection: Connection, standing: Standing = connection.standing ?? {}): SourceState {
  const { status, statusReason, lastSyncRun, problems } = connection;
  const { heldDeletes = 0, waiting = 0 } = standing;
  const reason = statusReason ?? problems[0]?.reason;
  if (status === 'deleting') return { tone: 'quiet', text: texts.sources.deleting };
  if (status === 'needs_reauth') return { tone: 'bad', text: texts.sources.needsReauth, reason };
  if (status === 'needs_configuration') return { tone: 'bad', text: texts.sources.needsConfiguration, reason };
  if (status === 'paused') return { tone: 'quiet', text: texts.sources.paused };
  if (lastSyncRun?.status === 'running') return { tone: 'busy', text: texts.sources.syncing };
  if (lastSyncRun?.status === 'failed') {
    return { tone: 'bad', text: texts.sources.failing, reason: lastSyncRun.error ?? reason };
  }
  if (heldDeletes > 0) return { tone: 'warn', text: texts.sources.attention };
  if (problems.length > 0) return { tone: 'warn', text: texts.sources.attention, reason };
  if (waiting > 0) return { tone: 'busy', text: texts.sources.reading };
  return { tone: 'good', text: texts.sources.active };
}
