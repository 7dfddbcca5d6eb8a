import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConnectorError } from 'memoryd/connector';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import folder from '../../connectors/folder/index.ts';
import { createContext, createRoot, listAll, writeTree } from './folder-fixture.ts';

let root: string;
let own: string;
let remove: () => Promise<void>;
beforeEach(async () => {
  ({ root, remove } = await createRoot());
  own = join(root, 'memory data');
  await writeTree(root, ['notes.md', 'memory data/daemon.json', 'memory data/database/1', 'memory data too.md']);
});
afterEach(() => remove());

describe('the data directory of the daemon in a mirrored folder', () => {
  it('is not listed, whatever its name', async () => {
    const listing = await listAll(createContext({ path: root, hidden: true }, { ownFolders: [own] }), root);
    expect(listing.paths).toEqual(['memory data too.md', 'notes.md']);
  });

  it('is not reached by a link that is followed', async () => {
    await symlink(own, join(root, 'alias'));
    await symlink(join(own, 'daemon.json'), join(root, 'key.json'));
    const ctx = createContext({ path: root, followSymlinks: true }, { ownFolders: [own] });
    expect((await listAll(ctx, root)).paths).toEqual(['memory data too.md', 'notes.md']);
    for (const path of ['alias/daemon.json', 'key.json']) {
      const id = join(root, path);
      expect((await folder.lookup!(ctx, { id: root }, [id])).refs, path).toEqual([]);
      expect(await folder.fetch(ctx, { id: root }, { id, rev: '' }), path).toEqual({ gone: true });
    }
  });

  it('is not found by a look-up, and not read', async () => {
    const ctx = createContext({ path: root }, { ownFolders: [own] });
    const ids = [own, join(own, 'daemon.json'), join(own, 'database')];
    expect((await folder.lookup!(ctx, { id: root }, ids)).refs).toEqual([]);
    expect(await folder.fetch(ctx, { id: root }, { id: join(own, 'daemon.json'), rev: '' })).toEqual({
      skip: 'filtered',
    });
  });

  it('cannot be connected itself, nor a folder in it, nor a link to one', async () => {
    await mkdir(join(own, 'exports'));
    await writeFile(join(own, 'exports', 'all.md'), 'text');
    await symlink(join(own, 'exports'), join(root, 'elsewhere'));
    for (const path of [own, join(own, 'exports'), join(root, 'elsewhere')]) {
      const ctx = createContext({ path }, { ownFolders: [own] });
      const error: ConnectorError = await Promise.resolve(folder.partitions(ctx)).then(
        () => expect.fail(`${path} was taken`),
        (reason: unknown) => reason as ConnectorError,
      );
      expect(error.message).toContain('the daemon’s own data');
      expect((await folder.check(ctx))[0]).toMatchObject({ name: 'path', status: 'failed' });
    }
  });
});
