import { defineConnector, type JsonObject } from 'memoryd/connector';
import { authSpecs } from './auth.ts';
import { changesOfPages, headOfPages } from './changes.ts';
import { checkNotion } from './check.ts';
import { apiOrigin } from './client.ts';
import { configSchema, type NotionConfig } from './config.ts';
import { fetchPage } from './contents.ts';
import { offered, receive } from './hooks.ts';
import { budgets, classify } from './limits.ts';
import { listPages } from './list.ts';
import { lookUpPages } from './lookup.ts';
import { partitions } from './partition.ts';
import { resourcesOf } from './resources.ts';

/** Mirrors pages and rows of databases, with their properties, files and comments. Reads only. */
export default defineConnector<NotionConfig, JsonObject>({
  spec: {
    name: 'notion',
    version: '1.0.0',
    title: 'Notion',
    kind: 'notes',
    description: 'Mirrors pages and rows of databases, with their properties, attached files and comments.',
    config: configSchema,
    auth: authSpecs,
    limits: budgets,
    origins: [apiOrigin],
    classify,
    // Neither the search nor a query promises to show everything.
    listing: 'partial',
    schedule: { everyMs: 3_600_000, reconcileEveryMs: 24 * 3_600_000 },
    // Pages are read again by turns, whatever Notion says of their last edit.
    revs: 'loose',
    documentType: 'notion_doc',
  },
  check: checkNotion,
  resources: resourcesOf,
  partitions: async () => partitions,
  head: headOfPages,
  list: listPages,
  changes: changesOfPages,
  fetch: (ctx, _partition, ref) => fetchPage(ctx, ref),
  lookup: (ctx, _partition, ids) => lookUpPages(ctx, ids),
  hooks: { gatherMs: 30_000, offered, receive },
});
