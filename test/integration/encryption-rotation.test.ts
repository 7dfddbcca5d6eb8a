import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEncryption, keyIdOf, newEncryptionKey, readKeyFile } from '../../src/base/encryption.ts';
import { newId } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openEncryption, rotateEncryption } from '../../src/auth/encryption-keys.ts';
import { storePlan } from '../../src/connections/connection-plan.ts';
import { createSharedHooks } from '../../src/inbound/hooks/shared-hooks.ts';
import { createOAuthClients } from '../../src/auth/oauth-clients.ts';
import { createVault } from '../../src/auth/vault.ts';
import { findConnection } from '../../src/store/connections.ts';
import { findCredentials, putCredentials } from '../../src/store/credentials.ts';
import type { Database } from '../../src/store/database.ts';
import { sql } from '../../src/store/sql.ts';
import { emptyPlan } from '../support/authorized.ts';
import { createTestClock } from '../support/clock.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';

describe.each(engines)('keys of stored secrets on %s', (engine) => {
  const clock = createTestClock();
  let store: TestDatabase;
  let dataDir: string;
  let database: Database;
  beforeEach(async () => {
    store = await openTestDatabase(engine);
    ({ database } = store);
    dataDir = mkdtempSync(join(tmpdir(), 'memoryd-rotation-'));
  });
  afterEach(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const options = (key?: string, previousKey?: string) => ({
    database,
    key,
    previousKey,
    dataDir,
    clock,
    log: silentLogger,
  });
  const rotate = (key?: string, previousKey?: string, discardUnreadable = false) =>
    rotateEncryption({ ...options(key, previousKey), discardUnreadable });
  const mismatch = expect.objectContaining({ code: 'encryption_key_mismatch' });

  const sharedHooks = (vault: ReturnType<typeof createVault>) =>
    createSharedHooks({ database, vault, clock, publicUrl: null, configured: {} });

  /** Connections with sealed secrets, a client of the settings, and an offered secret of hooks. */
  async function fill(encryption: ReturnType<typeof createEncryption>, count: number): Promise<string[]> {
    const vault = createVault(encryption);
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const now = clock.now();
      const id = newId(now);
      ids.push(id);
      const token = { token: vault.seal('token', id, { index }), renewable: true, expiresAt: null, renewAt: null };
      await database.transaction(async (tx) => {
        await storePlan(tx, { id, provider: 'x', account: null, now }, emptyPlan);
        const fields = vault.seal('fields', id, { key: `secret ${index}` });
        await putCredentials(tx, { connectionId: id, kind: 'oauth2', fields, token, now });
      });
    }
    const clients = createOAuthClients({ database, vault, clock, config: {} });
    await clients.setCustom('notion', { enabled: true, clientId: 'id', clientSecret: 'the client secret' });
    await sharedHooks(vault).offer('notion', 'the offered secret');
    return ids;
  }

  async function readable(encryption: ReturnType<typeof createEncryption>, ids: string[]): Promise<void> {
    const vault = createVault(encryption);
    for (const [index, id] of ids.entries()) {
      const row = (await findCredentials(database, id))!;
      expect(vault.open('fields', id, row.fields!)).toEqual({ key: `secret ${index}` });
      expect(vault.open('token', id, row.token!)).toEqual({ index });
      expect([row.fields, row.token].map((sealed) => keyIdOf(sealed!))).toEqual([encryption.keyId, encryption.keyId]);
    }
    const clients = createOAuthClients({ database, vault, clock, config: {} });
    expect(await clients.find('notion')).toEqual({ clientId: 'id', clientSecret: 'the client secret' });
    expect((await sharedHooks(vault).show('notion')).offered).toMatchObject({ secret: 'the offered secret' });
  }

  it('are made in the data directory, and found again', async () => {
    const first = await openEncryption(options());
    expect((await openEncryption(options())).keyId).toBe(first.keyId);
    expect(await readKeyFile(dataDir, silentLogger)).toHaveLength(1);
  });

  it('must be the same in every process', async () => {
    const encryption = await openEncryption(options(newEncryptionKey()));
    await fill(encryption, 1);
    await expect(openEncryption(options(newEncryptionKey()))).rejects.toMatchObject({
      code: 'encryption_key_mismatch',
      message: expect.stringMatching(/This process has another encryption key \([\w-]{12}\)/),
      details: expect.stringContaining('MEMORYD_ENCRYPTION_KEY'),
    });
    await expect(openEncryption(options())).rejects.toEqual(mismatch);
  });

  it('are agreed on by processes that start at once', async () => {
    const keys = [newEncryptionKey(), newEncryptionKey(), newEncryptionKey()];
    const outcomes = await Promise.allSettled(keys.map((key) => openEncryption(options(key))));
    const opened = outcomes.filter(({ status }) => status === 'fulfilled');
    // The embedded database has only one process, which may change its mind while nothing is sealed.
    expect(opened).toHaveLength(engine === 'pglite' ? 3 : 1);
  });

  it('may be exchanged freely while nothing is sealed, in the embedded database alone', async () => {
    await openEncryption(options(newEncryptionKey()));
    const exchange = openEncryption(options(newEncryptionKey()));
    if (engine === 'pglite') await expect(exchange).resolves.toBeDefined();
    else await expect(exchange).rejects.toEqual(mismatch);
  });

  it('are replaced by the configured one', async () => {
    const [old, next] = [newEncryptionKey(), newEncryptionKey()];
    const ids = await fill(await openEncryption(options(old)), 250);
    const report = await rotate(next, old);
    expect(report).toEqual({ keyId: createEncryption([next]).keyId, resealed: 502, discarded: 0 });
    await readable(await openEncryption(options(next)), ids);
    await expect(openEncryption(options(old))).rejects.toEqual(mismatch);
    expect(await rotate(next)).toMatchObject({ resealed: 0 });
  });

  it('are replaced by a new one in the data directory', async () => {
    const before = await openEncryption(options());
    const ids = await fill(before, 3);
    const { keyId } = await rotate();
    expect(keyId).not.toBe(before.keyId);
    expect(await readKeyFile(dataDir, silentLogger)).toHaveLength(1);
    await readable(await openEncryption(options()), ids);
  });

  it('move from the data directory into the configuration', async () => {
    const ids = await fill(await openEncryption(options()), 2);
    const key = newEncryptionKey();
    await rotate(key);
    await readable(await openEncryption({ ...options(key), dataDir: join(dataDir, 'elsewhere') }), ids);
  });

  it.each([0, 1, 2, 3, 5, 7])(
    'survive a crash after %i of the steps of a rotation, which then goes on',
    async (steps) => {
      const ids = await fill(await openEncryption(options()), 3);
      let left = steps;
      const dying: Database = {
        ...database,
        query: (statement) => database.query(statement),
        async execute(statement) {
          if (left-- <= 0) throw new Error('killed');
          return database.execute(statement);
        },
      };
      await expect(rotateEncryption({ ...options(), database: dying, discardUnreadable: false })).rejects.toThrow(
        'killed',
      );
      // The daemon works with both keys meanwhile.
      const between = await openEncryption(options());
      expect(between.keyIds).toHaveLength(2);
      const { fields } = (await findCredentials(database, ids[0]!))!;
      expect(createVault(between).open('fields', ids[0]!, fields!)).toEqual({ key: 'secret 0' });
      await rotate();
      const after = await openEncryption(options());
      expect(after.keyIds).toEqual([between.keyId]);
      await readable(after, ids);
    },
  );

  it('do not let a process go on that lacks the old one before the end', async () => {
    const [old, next] = [newEncryptionKey(), newEncryptionKey()];
    await fill(await openEncryption(options(old)), 1);
    await openEncryption(options(next, old));
    await expect(openEncryption(options(next))).rejects.toMatchObject({
      message: expect.stringContaining('is not finished'),
      details: expect.stringContaining('encryptionKeyPrevious'),
    });
    await expect(openEncryption(options(old))).rejects.toEqual(mismatch);
  });

  it('that are lost cost the connections their authorization, and nothing else', async () => {
    const ids = await fill(await openEncryption(options(newEncryptionKey())), 2);
    const key = newEncryptionKey();
    await expect(rotate(key)).rejects.toEqual(mismatch);
    expect(await rotate(key, undefined, true)).toMatchObject({ resealed: 0, discarded: 6 });
    await openEncryption(options(key));
    expect(await findCredentials(database, ids[0]!)).toMatchObject({ fields: null, token: null, denied: true });
    expect(await findConnection(database, ids[0]!)).toMatchObject({
      status: 'needs_reauth',
      statusReason: expect.stringContaining('Connect again'),
    });
    expect(await database.query(sql`select 1 from settings where key like 'oauth_client:%'`)).toEqual([]);
  });
});
