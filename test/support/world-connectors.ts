import drive from '../../connectors/google-drive/index.ts';
import gmail from '../../connectors/gmail/index.ts';
import { listPage } from '../../connectors/gmail/list.ts';
import notion from '../../connectors/notion/index.ts';
import { createGmailWorld } from '../../fixtures/servers/gmail/gmail-world.ts';
import { createDriveWorld } from '../../fixtures/servers/google-drive/drive-world.ts';
import { createNotionWorld } from '../../fixtures/servers/notion/notion-world.ts';
import type { Connector } from '../../src/connector/contract.ts';
import type { World, WorldOptions } from '../../src/connector-kit/world.ts';

export interface WorldConnector {
  connector: Connector<any, any>;
  world(options: WorldOptions): Promise<World>;
}

const smallPages = { mailsPerRequest: 5, requestsPerPage: 2, threadsPerPage: 3 };

/** Connectors, with pages of a few items, and worlds that random programs change. */
export const worldConnectors = {
  'google-drive': { connector: drive, world: createDriveWorld },
  gmail: {
    connector: { ...gmail, list: (ctx, partition, from) => listPage(ctx, partition, from, smallPages) },
    world: createGmailWorld,
  },
  notion: { connector: notion, world: createNotionWorld },
} satisfies Record<string, WorldConnector>;

export type WorldConnectorName = keyof typeof worldConnectors;
