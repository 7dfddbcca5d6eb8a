import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { CommandContext } from '../../src/cli/context.ts';
import { goodKey, startApiStandIn, type ApiStandIn } from './api-stand-in.ts';
import { runCommand, type CommandResult } from './command-line.ts';

export interface CliFixture {
  api: ApiStandIn;
  /** An empty folder, the working directory of commands. */
  folder: string;
  /** An address at which nothing listens. */
  closedUrl: string;
  /** Runs a command in this process with the stand-in as its daemon. */
  run(args: string[], overrides?: Partial<CommandContext>): Promise<CommandResult>;
}

/** A fresh stand-in and folder for each test of the file. */
export function useCliFixture(): CliFixture {
  const fixture = {
    run(args, overrides = {}) {
      const env = { MEMORYD_URL: fixture.api.url, MEMORYD_API_KEY: goodKey };
      return runCommand(args, { cwd: fixture.folder, env, ...overrides });
    },
  } as CliFixture;
  beforeEach(async () => {
    const closed = await startApiStandIn();
    fixture.closedUrl = closed.url;
    await closed.close();
    fixture.api = await startApiStandIn();
    fixture.folder = mkdtempSync(join(tmpdir(), 'memoryd-cli-'));
  });
  afterEach(async () => {
    await fixture.api.close();
    rmSync(fixture.folder, { recursive: true, force: true });
  });
  return fixture;
}

export const folderId = 'nTPkyRFA6CAFjF1YveCHK1';
export const otherId = 'nTPzzzzzzzzzzzzzzzzzz2';
export const imapId = 'ATbQgdM9mwZgikp4Wzxrxk';

/** A connection as the API shows it. */
export function connection(fields: object) {
  return {
    id: folderId,
    provider: 'folder',
    createdAt: '2026-03-01T09:00:00.000Z',
    status: 'active',
    statusReason: null,
    containerTag: 'handbook',
    metadata: { path: '/srv/notes' },
    documentCount: 3,
    ...fields,
  };
}
/** Two folders and a mailbox. */
export const connections = [
  connection({}),
  connection({ id: otherId, metadata: { path: '/srv/wiki' } }),
  connection({ id: imapId, provider: 'imap', metadata: { host: 'mail.example.com' } }),
];

/** The progress of a connection with three documents. */
export const progress = (status: string, waiting: number, fields: object = {}) => ({
  run: { id: 'R1', status, itemsSeen: 3, itemsTotal: 3, error: null, ...fields },
  items: { pending: 0, done: 3, failed: 0, skipped: 0 },
  documents: { waiting, foundByWords: 0, done: 3 - waiting, failed: 0 },
  heldDeletes: 0,
  problems: [],
});
