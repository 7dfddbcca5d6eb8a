import { silentLogger } from '../base/log.ts';
import type { Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import { openPglite } from '../store/pglite/open-pglite.ts';
import type { Connector } from '../connector/contract.ts';
import { createParts, type Deliver, type Parts } from './framework.ts';
import { keyOf, type Check, type RequestBudget, type Subject } from './check.ts';
import { openHarness } from './harness.ts';
import type { World, WorldOptions } from './world.ts';
import { authorizationChecks } from './checks/authorization.ts';
import { departureChecks } from './checks/departure.ts';
import { descriptionChecks } from './checks/description.ts';
import { failureChecks } from './checks/failures.ts';
import { interruptionChecks } from './checks/interruption.ts';
import { itemChecks } from './checks/items.ts';
import { leftOutChecks } from './checks/left-out.ts';
import { limitChecks } from './checks/limits.ts';
import { movementChecks } from './checks/movement.ts';
import { reportChecks } from './checks/reports.ts';
import { secrecyChecks } from './checks/secrecy.ts';
import { sizeChecks } from './checks/size.ts';
import { steadinessChecks } from './checks/steadiness.ts';

/** All checks, by their numbers. */
export const checks: readonly Check[] = [
  ...descriptionChecks,
  ...steadinessChecks,
  ...interruptionChecks,
  ...movementChecks,
  ...failureChecks,
  ...itemChecks,
  ...departureChecks,
  ...limitChecks,
  ...authorizationChecks,
  ...sizeChecks,
  ...reportChecks,
  ...secrecyChecks,
  ...leftOutChecks,
].toSorted((left, right) => left.number - right.number);

export { serveSource } from './serve-source.ts';
export type { Answer, Fault, SourceRequest, SourceServer, Traffic } from './serve-source.ts';
export type { Deliver } from './framework.ts';
export type { RequestBudget } from './check.ts';
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

/** The part of a test runner that the kit uses: `import * as vitest from 'vitest'` has it. */
export interface TestRunner {
  describe(name: string, define: () => void): unknown;
  it(name: string, run: () => Promise<void>, timeoutMs?: number): unknown;
  afterAll(run: () => Promise<void>): unknown;
}

export interface ConnectorTest {
  vitest: TestRunner;
  connector: Connector<any, any>;
  /** A new, empty source. Called for each check. */
  world(options: WorldOptions): World | Promise<World>;
  /**
   * Checks that do not apply, as the kit names them (`7 expired-position`). The kit fails when its own
   * list differs, so that no check is left out unseen.
   */
  notApplied?: readonly string[];
  /** The most requests that a sync may take. Without it check 21 does not apply. */
  requests?: RequestBudget;
  /** Seeds all random choices. A failed check names it. Default 1. */
  seed?: number;
  /** Items of the source whose listing must hold little memory. Default 100,000. */
  manyItems?: number;
  /**
   * Checks 4 and 6 break a sync at one commit or request after the other. `some`: the process dies at about every
   * second commit, and what fails in the same way for every connector (500, 429, broken and silent connections) fails at each
   * third request; answers that a connector has to understand are still tried everywhere. Default `every`.
   */
  places?: 'every' | 'some';
  /** For connections that take pushes: what a script sends in place of a sync. */
  deliver?: Deliver;
  /** Where the mirror is kept. Default: an embedded database in memory. Closed at the end. */
  database?(): Promise<Database>;
}

const standardTimeoutMs = 60_000;

/**
 * Defines the tests of a connector: one for each check that applies to it, with the real framework
 * between the connector and a database, and the world as its source. Await it at the top of a test file.
 */
export async function testConnector(test: ConnectorTest): Promise<void> {
  const { vitest, connector } = test;
  const world = await test.world({ clock: { now: () => new Date(0) }, canary: 'canary', pages: 'small' });
  const subject: Subject = {
    ...{ connector, world, requests: test.requests },
    isPushed: test.deliver !== undefined,
    manyItems: test.manyItems ?? 100_000,
    places: test.places ?? 'every',
  };
  const concerned = checks.filter((check) => check.concerns?.(subject) ?? true);
  const judged = concerned.map((check) => ({ check, reason: check.missing?.(subject) }));
  await world.close();
  const parts = sharedParts(test);
  vitest.describe(`the connector ${connector.spec?.name ?? '(without a name)'}`, () => {
    vitest.afterAll(parts.close);
    const left = judged.filter(({ reason }) => reason !== undefined);
    vitest.it(
      `is under ${judged.length - left.length} checks; ${left.length} do not apply, as \`notApplied\` says`,
      () => expectListed(left, test.notApplied ?? []),
    );
    for (const { check, reason } of judged) {
      if (reason !== undefined) continue;
      vitest.it(
        `check ${keyOf(check)}: ${check.title}`,
        () => runCheck(check, test, subject, parts.open),
        check.timeoutMs ?? standardTimeoutMs,
      );
    }
  });
}

async function runCheck(
  check: Check,
  test: ConnectorTest,
  subject: Subject,
  open: () => Promise<Parts>,
): Promise<void> {
  const harness = await openHarness({
    parts: await open(),
    connector: test.connector,
    makeWorld: test.world,
    deliver: test.deliver,
    check: `${keyOf(check)} failed: ${check.title}.`,
    seed: test.seed ?? 1,
    pages: check.pages ?? 'small',
    settings: check.settings,
  });
  try {
    await check.run(harness, subject);
  } finally {
    await harness.close();
  }
}

/** One database for all checks, opened by the first. */
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
  left: readonly { check: Check; reason: string | undefined }[],
  named: readonly string[],
): Promise<void> {
  const keys = new Set(left.map(({ check }) => keyOf(check)));
  const unnamed = left.filter(({ check }) => !named.includes(keyOf(check)));
  const lines = [
    ...unnamed.map(
      ({ check, reason }) => `'${keyOf(check)}' does not apply: ${reason}. Say so in \`notApplied\`, or mend that.`,
    ),
    ...named
      .filter((key) => !keys.has(key))
      .map((key) =>
        checks.some((check) => keyOf(check) === key)
          ? `'${key}' applies. Take it out of \`notApplied\`.`
          : `'${key}' is no check. Take it out of \`notApplied\`.`,
      ),
  ];
  if (lines.length > 0) throw new Error(['The list of checks that do not apply is not right:', ...lines].join('\n  '));
}
