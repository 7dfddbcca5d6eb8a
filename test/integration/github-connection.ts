import github from '../../connectors/github/index.ts';
import type { GithubConfig } from '../../connectors/github/config.ts';
import { createAddressGuard } from '../../src/base/address-guard.ts';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Resource } from '../../src/connector/contract.ts';
import { createOutbound } from '../../src/source/http/outbound.ts';
import { createTextWork } from '../../src/engine/text/text-work.ts';
import { sql } from '../../src/store/sql.ts';
import { openTestDatabase, type Engine } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { authorizedBy, credentialsOf } from '../support/token-authorization.ts';

/** A connection of the connector to a server that stands for GitHub, synced on demand. */
export async function connectGithub(options: {
  clock: Clock;
  config: GithubConfig;
  token?: string;
  selection?: Resource[];
  engine?: Engine;
}) {
  const { clock, config, token = 'github-token', selection = [], engine = 'pglite' } = options;
  const opened = await openTestDatabase(engine);
  const { database } = opened;
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const outbound = createOutbound({ database, clock, log: silentLogger, guard, metrics: createMetrics() });
  const textWork = createTextWork({ log: silentLogger });
  const authorization = authorizedBy(token);
  const mirror = await createMirror({
    database,
    clock,
    connector: github,
    settings: { claimSize: 128 },
    runner: { outbound, extractor: textWork, credentials: credentialsOf(authorization) },
  });
  const chosen = selection.length === 0 ? null : JSON.stringify(selection);
  await database.query(sql`
    update connections set config = ${JSON.stringify(config)}::jsonb, selection = coalesce(${chosen}::jsonb, selection)
    where id = ${mirror.id}`);
  return {
    database,
    outbound,
    authorization,
    mirror,
    async close() {
      await textWork.close();
      await outbound.close();
      await opened.close();
    },
  };
}
