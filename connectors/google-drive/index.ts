import { defineConnector, type BudgetSpec, type JsonObject } from 'memoryd/connector';
import { classifyGoogle } from '../google/refusals.ts';
import { authSpecs } from './auth.ts';
import { checkDrive } from './check.ts';
import { configSchema, type DriveConfig } from './config.ts';
import { fetchFile } from './contents.ts';
import { partitionsOf, rootsOf } from './drives.ts';
import { maxBytes } from './exports.ts';
import { changesOfFiles } from './feed.ts';
import { cancel, receive, renew, subscribe } from './hooks.ts';
import { headOfFiles, listFiles, lookUpFiles } from './listing.ts';
import { resourcesOf } from './resources.ts';

/**
 * Google counts units: 325,000 a minute for each user, of which a listing costs 100 and a file 5 or a little more:
 * https://developers.google.com/workspace/drive/api/guides/limits
 */
const budgets: BudgetSpec[] = [
  { match: 'GET www.googleapis.com/drive/v3/files', rate: 1_000, perMs: 60_000 },
  { match: 'GET www.googleapis.com/**', rate: 12_000, perMs: 60_000, reserve: 0.2 },
];

/** Mirrors files of My Drive, files that are shared, and shared drives. Reads only. */
export default defineConnector<DriveConfig, JsonObject>({
  spec: {
    name: 'google-drive',
    version: '1.0.0',
    title: 'Google Drive',
    kind: 'drive',
    description: 'Mirrors documents, sheets, slides and other files of My Drive and of shared drives.',
    config: configSchema,
    auth: authSpecs,
    limits: budgets,
    // Large documents are exported at an address of their own.
    origins: ['https://www.googleapis.com', 'https://docs.google.com'],
    classify: classifyGoogle,
    schedule: { everyMs: 5 * 60_000, reconcileEveryMs: 24 * 3_600_000 },
    scope: 'tree',
    // Seen by many: two listings of one drive differ, without an error and without `incompleteSearch`.
    listing: 'partial',
    maxItemBytes: maxBytes,
    // Names and folders are a part of the rev, and with comments so is the version, which moves with other things too.
    revs: 'loose',
  },
  check: checkDrive,
  resources: resourcesOf,
  partitions: partitionsOf,
  roots: rootsOf,
  head: headOfFiles,
  list: listFiles,
  changes: changesOfFiles,
  fetch: fetchFile,
  lookup: lookUpFiles,
  hooks: { gatherMs: 5_000, subscribe, renew, cancel, receive: async (raw, secret) => receive(raw, secret) },
});
