import { needsWorld, worldWith, type Check } from '../check.ts';
import type { SourceRequest } from '../serve-source.ts';
import type { Harness } from '../harness.ts';

/** Check 12: a source that limits its requests is left alone until it says, and no worker waits for it. */
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
  limit(harness: Harness): Limit;
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

export const limitChecks: readonly Check[] = [
  ...cases.map((one): Check => ({
    number: 12,
    name: one.name,
    title: `after ${one.title}, no request is sent too early, and the run does not wait for it`,
    missing: ({ world }) => needsWorld(world, 'traffic'),
    run: (harness) => leaveAlone(harness, one),
  })),
  {
    number: 12,
    name: 'other-status',
    title: 'after a limit that has another status than 429, no request is sent too early',
    missing: ({ world }) => needsWorld(world, 'traffic') ?? needsWorld(world, 'limit'),
    run: (harness) =>
      leaveAlone(harness, {
        name: 'other-status',
        title: 'a limit with another status',
        waitMs: waitSeconds * 1_000,
        limit: () => worldWith(harness, 'limit').limit(waitSeconds),
      }),
  },
];

async function leaveAlone(harness: Harness, { title, waitMs, limit }: Case): Promise<void> {
  await harness.populate(8);
  let limited: Date | undefined;
  let early: SourceRequest | undefined;
  let requests = 0;
  let parallel = 0;
  harness.interfere({
    request(request) {
      requests += 1;
      if (limited) {
        const afterMs = request.at.getTime() - limited.getTime();
        // While the limit was on its way, others may have been sent.
        if (afterMs === 0) parallel += 1;
        if (afterMs < waitMs && (afterMs > 0 || parallel > mostParallel)) early ??= request;
        return afterMs < waitMs ? limit(harness) : undefined;
      }
      if (requests < 3) return undefined;
      limited = request.at;
      harness.note(`Request ${requests}, ${request.method} ${request.path}, was answered by ${title}.`);
      return limit(harness);
    },
  });
  const { run } = await harness.sync();
  if (!limited) return harness.expect(false, 'A sync of eight items took fewer than three requests.');
  const endedAfterMs = harness.clock.now().getTime() - limited.getTime();
  if (waitMs > 5_000) {
    harness.expect(
      endedAfterMs < waitMs,
      `The run waited ${endedAfterMs / 1_000} s instead of giving its worker back.`,
    );
    harness.expect(
      run?.errorCode === 'rate_limited',
      `The run ended with ${run?.errorCode ?? 'no error'} and must say rate_limited.`,
    );
    const { nextSyncAt } = await harness.connection();
    const inMs = (nextSyncAt?.getTime() ?? 0) - limited.getTime();
    harness.expect(inMs >= waitMs - 1_000, `The next sync is planned ${inMs / 1_000} s after the limit.`);
    // Somebody presses the button meanwhile.
    harness.clock.advance(1_000);
    await harness.sync();
  }
  harness.expect(
    early === undefined,
    `${early?.method} ${early?.path} was sent before the time that the source named.`,
  );
  harness.clock.advance(waitMs + 3_600_000);
  await harness.syncAndCompare('After the limit was over');
}
