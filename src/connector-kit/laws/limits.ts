import { needsWorld, type Law } from '../law.ts';
import type { SourceRequest } from '../serve-source.ts';
import type { Trial } from '../trial.ts';

/** Law 12: a source that limits its requests is left alone until it says, and no worker waits for it. */
const waitSeconds = 120;
/** Requests that may be on their way at once. */
const mostParallel = 8;

interface Limit {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
}

interface Case {
  name: string;
  title: string;
  /** How long the source is left alone at least. */
  waitMs: number;
  limit(trial: Trial): Limit;
}

const cases: readonly Case[] = [
  {
    name: 'seconds',
    title: 'a 429 with a number of seconds',
    waitMs: waitSeconds * 1_000,
    limit: () => ({ status: 429, headers: { 'retry-after': String(waitSeconds) }, json: {} }),
  },
  {
    name: 'date',
    title: 'a 429 with a date',
    waitMs: waitSeconds * 1_000,
    limit: ({ clock }) => {
      const at = new Date(clock.now().getTime() + waitSeconds * 1_000);
      return { status: 429, headers: { 'retry-after': at.toUTCString() }, json: {} };
    },
  },
  {
    name: 'none',
    title: 'a 429 that does not say for how long',
    waitMs: 1_000,
    limit: () => ({ status: 429, json: {} }),
  },
];

export const limitLaws: readonly Law[] = [
  ...cases.map((one): Law => ({
    number: 12,
    name: one.name,
    title: `after ${one.title}, no request is sent too early, and the run does not wait for it`,
    missing: ({ world }) => needsWorld(world, 'traffic'),
    run: (trial) => leaveAlone(trial, one),
  })),
  {
    number: 12,
    name: 'other-status',
    title: 'after a limit that has another status than 429, no request is sent too early',
    missing: ({ world }) => needsWorld(world, 'traffic') ?? needsWorld(world, 'limit'),
    run: (trial) =>
      leaveAlone(trial, {
        name: 'other-status',
        title: 'a limit with another status',
        waitMs: waitSeconds * 1_000,
        limit: () => trial.world.limit!(waitSeconds),
      }),
  },
];

async function leaveAlone(trial: Trial, { title, waitMs, limit }: Case): Promise<void> {
  await trial.populate(8);
  let limited: Date | undefined;
  let early: SourceRequest | undefined;
  let requests = 0;
  let parallel = 0;
  trial.interfere({
    request(request) {
      requests += 1;
      if (limited) {
        const afterMs = request.at.getTime() - limited.getTime();
        // While the limit was on its way, others may have been sent.
        if (afterMs === 0) parallel += 1;
        if (afterMs < waitMs && (afterMs > 0 || parallel > mostParallel)) early ??= request;
        return afterMs < waitMs ? limit(trial) : undefined;
      }
      if (requests < 3) return undefined;
      limited = request.at;
      trial.note(`Request ${requests}, ${request.method} ${request.path}, was answered by ${title}.`);
      return limit(trial);
    },
  });
  const { run } = await trial.sync();
  trial.expect(limited !== undefined, 'A sync of eight items took fewer than three requests.');
  const endedAfterMs = trial.clock.now().getTime() - limited!.getTime();
  if (waitMs > 5_000) {
    trial.expect(endedAfterMs < waitMs, `The run waited ${endedAfterMs / 1_000} s instead of giving its worker back.`);
    trial.expect(
      run?.errorCode === 'rate_limited',
      `The run ended with ${run?.errorCode ?? 'no error'} and must say rate_limited.`,
    );
    const { nextSyncAt } = await trial.connection();
    const inMs = (nextSyncAt?.getTime() ?? 0) - limited!.getTime();
    trial.expect(inMs >= waitMs - 1_000, `The next sync is planned ${inMs / 1_000} s after the limit.`);
    // Somebody presses the button meanwhile.
    trial.clock.advance(1_000);
    await trial.sync();
  }
  trial.expect(early === undefined, `${early?.method} ${early?.path} was sent before the time that the source named.`);
  trial.clock.advance(waitMs + 3_600_000);
  await trial.syncWell();
  await trial.expectMirror('After the limit was over');
}
