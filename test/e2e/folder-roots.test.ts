import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDaemonFile } from '../../src/cli/daemon-file.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const apiKey = 'sm_a-key-that-is-long-enough-for-tests';
let base: string;
beforeAll(async () => {
  base = await temporaryFolder('memoryd-roots-');
  for (const folder of ['allowed/notes', 'private']) {
    await mkdir(join(base, folder), { recursive: true });
    await writeFile(join(base, folder, 'text.md'), `Text of ${folder}.\n`);
  }
  await symlink(join(base, 'private'), join(base, 'allowed/way-out'));
});
afterAll(() => rm(base, { recursive: true, force: true }));

function send(daemon: Daemon, key: string, request: { method: string; path: string; metadata: object }) {
  return fetch(new URL(request.path, daemon.url), {
    method: request.method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: request.metadata }),
  });
}

const connect = (daemon: Daemon, key: string, path: string) =>
  send(daemon, key, { method: 'POST', path: '/v3/connections/folder', metadata: { path } });

describe('folders that may be connected through the API', () => {
  it('are none until they are named; commands on the machine connect what they like', async () => {
    const daemon = await startDaemon({ env: { MEMORYD_API_KEY: apiKey } });
    try {
      const { token } = (await readDaemonFile(daemon.dataDir))!;
      const refused = await connect(daemon, apiKey, join(base, 'allowed'));
      expect(refused.status).toBe(403);
      expect(((await refused.json()) as { details: string }).details).toContain('MEMORYD_FOLDER_ROOTS');
      expect((await connect(daemon, token, join(base, 'allowed'))).status).toBe(200);
    } finally {
      await daemon.stop();
    }
  });

  it('are those below the named ones, by their real paths, at creation and at every change', async () => {
    const daemon = await startDaemon({
      env: { MEMORYD_API_KEY: apiKey, MEMORYD_FOLDER_ROOTS: join(base, 'allowed') },
    });
    try {
      for (const path of ['private', 'allowed/../private', 'allowed/way-out', '.', 'allowed-not'])
        expect((await connect(daemon, apiKey, join(base, path))).status, path).toBe(403);
      const created = await connect(daemon, apiKey, join(base, 'allowed/notes'));
      expect(created.status).toBe(200);
      const path = `/v3/connections/${((await created.json()) as { id: string }).id}`;
      const moved = await send(daemon, apiKey, { method: 'PATCH', path, metadata: { path: join(base, 'private') } });
      expect(moved.status).toBe(403);
      const further = await send(daemon, apiKey, { method: 'PATCH', path, metadata: { hidden: true } });
      expect(further.status).toBe(200);
    } finally {
      await daemon.stop();
    }
  });
});
