import { silentLogger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import { openPglite } from '../store/pglite/open-pglite.ts';
import type { Connector } from '../connector/contract.ts';
import { createParts, type Deliver, type Parts } from './framework.ts';
import { keyOf, type Law, type RequestBudget, type Subject } from './law.ts';
import { openTrial } from './trial.ts';
import type { World, WorldOptions } from './world.ts';
import { authorizationLaws } from './laws/authorization.ts';
import { departureLaws } from './laws/departure.ts';
import { descriptionLaws } from './laws/description.ts';
import { failureLaws } from './laws/failures.ts';
import { interruptionLaws } from './laws/interruption.ts';
import { itemLaws } from './laws/items.ts';
import { leftOutLaws } from './laws/left-out.ts';
import { limitLaws } from './laws/limits.ts';
import { movementLaws } from './laws/movement.ts';
import { reportLaws } from './laws/reports.ts';
import { secrecyLaws } from './laws/secrecy.ts';
import { shortListingLaws } from './laws/short-listing.ts';
import { sizeLaws } from './laws/size.ts';
import { steadinessLaws } from './laws/steadiness.ts';

/** All laws, by their numbers. */
export const laws: readonly Law[] = [
  ...descriptionLaws,
  ...steadinessLaws,
  ...interruptionLaws,
  ...movementLaws,
  ...failureLaws,
  ...itemLaws,
  ...departureLaws,
  ...limitLaws,
  ...authorizationLaws,
  ...sizeLaws,
  ...reportLaws,
  ...secrecyLaws,
  ...leftOutLaws,
  ...shortListingLaws,
].toSorted((left, right) => left.number - right.number);

export { serveSource } from './serve-source.ts';
export type { Answer, Fault, SourceRequest, SourceServer, Traffic } from './serve-source.ts';
export type { Deliver } from './framework.ts';
export type { RequestBudget } from './law.ts';
export type {
  CredentialTrouble,
  ExpectedItem,
  UnreadableKind,
  World,
  WorldGrant,
  WorldHooks,
  WorldOAuth,
  WorldOptions,
} from './world.ts';

/** What the kit needs of a test runner: `import * as vitest from 'vitest'` has it. */
export interface TestRunner {
  describe(name: string, define: () => void): unknown;
  it(name: string, run: () => Promise<void>, timeoutMs?: number): unknown;
  afterAll(run: () => Promise<void>): unknown;
}

export interface ConnectorTest {
  vitest: TestRunner;
  connector: Connector<any, any>;
  /** A new, empty source. Called for each law. */
  world(options: WorldOptions): World | Promise<World>;
  /**
   * Laws that do not apply, as the kit names them (`7 expired-position`). The kit fails when its own
   * list differs, so that no law is left out unseen.
   */
  notApplied?: readonly string[];
  /** The most requests that a sync may take. Without it law 21 does not apply. */
  requests?: RequestBudget;
  /** What is random follows from it. A broken law names it. Default 1. */
  seed?: number;
  /** Items of the source whose listing must hold little memory. Default 100,000. */
  manyItems?: number;
  /** For connections that take pushes: what a script sends in place of a sync. */
  deliver?: Deliver;
  /** Where the mirror is kept. Default: an embedded database in memory. Closed at the end. */
  database?(): Promise<Database>;
}

const standardTimeoutMs = 60_000;

/**
 * Defines the tests of a connector: one for each law that applies to it, with the real framework
 * between the connector and a database, and the world as its source. Await it at the top of a test file.
 */
export async function testConnector(test: ConnectorTest): Promise<void> {
  const { vitest, connector } = test;
  const world = await test.world({ clock: { now: () => new Date(0) }, canary: 'canary', pages: 'small' });
  const subject: Subject = {
    ...{ connector, world, requests: test.requests },
    isPushed: test.deliver !== undefined,
    manyItems: test.manyItems ?? 100_000,
  };
  const concerned = laws.filter((law) => law.concerns?.(subject) ?? true);
  const judged = concerned.map((law) => ({ law, reason: law.missing?.(subject) }));
  await world.close();
  const parts = sharedParts(test);
  vitest.describe(`the connector ${connector.spec?.name ?? '(without a name)'}`, () => {
    vitest.afterAll(parts.close);
    const left = judged.filter(({ reason }) => reason !== undefined);
    vitest.it(`is under ${judged.length - left.length} laws; ${left.length} do not apply, as \`notApplied\` says`, () =>
      expectListed(left, test.notApplied ?? []),
    );
    for (const { law, reason } of judged) {
      if (reason !== undefined) continue;
      vitest.it(
        `law ${keyOf(law)}: ${law.title}`,
        () => uphold(law, test, subject, parts.open),
        law.timeoutMs ?? standardTimeoutMs,
      );
    }
  });
}

async function uphold(law: Law, test: ConnectorTest, subject: Subject, open: () => Promise<Parts>): Promise<void> {
  const trial = await openTrial({
    parts: await open(),
    connector: test.connector,
    makeWorld: test.world,
    deliver: test.deliver,
    law: `${keyOf(law)} is broken: ${law.title}.`,
    seed: test.seed ?? 1,
    pages: law.pages ?? 'small',
    ...(law.settings && { settings: law.settings }),
  });
  try {
    await law.run(trial, subject);
  } finally {
    await trial.close();
  }
}

/** One database for all laws, opened by the first. */
function sharedParts(test: ConnectorTest): { open(): Promise<Parts>; close(): Promise<void> } {
  let parts: Promise<Parts> | undefined;
  return {
    open: () => (parts ??= (test.database ?? openInMemory)().then(createParts)),
    close: async () => (await parts)?.close(),
  };
}

async function openInMemory(): Promise<Database> {
  const database = await openPglite({ dataDir: 'memory', log: silentLogger });
  await migrate(database, { log: silentLogger });
  return database;
}

async function expectListed(
  left: readonly { law: Law; reason: string | undefined }[],
  named: readonly string[],
): Promise<void> {
  const keys = new Set(left.map(({ law }) => keyOf(law)));
  const unnamed = left.filter(({ law }) => !named.includes(keyOf(law)));
  const lines = [
    ...unnamed.map(
      ({ law, reason }) => `'${keyOf(law)}' does not apply: ${reason}. Say so in \`notApplied\`, or mend that.`,
    ),
    ...named
      .filter((key) => !keys.has(key))
      .map((key) =>
        laws.some((law) => keyOf(law) === key)
          ? `'${key}' applies. Take it out of \`notApplied\`.`
          : `'${key}' is no law. Take it out of \`notApplied\`.`,
      ),
  ];
  if (lines.length > 0) throw new Error(['The list of laws that do not apply is not right:', ...lines].join('\n  '));
}
