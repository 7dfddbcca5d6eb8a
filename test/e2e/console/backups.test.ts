import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { putEmptyDatabase, startDaemon, type Daemon } from '../../support/daemon.ts';
import { call } from '../../support/memory-of.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A busy disk writes the thousand files of a backup slowly. */
const patienceMs = 240_000;
const env = { MEMORYD_EMBEDDER_KIND: 'hashing' };

describeWithBrowser('backups in the console in a browser', () => {
  const stage = useConsole(() => ({ env }));

  it(
    'are made while the daemon goes on writing, and another daemon starts on one',
    { timeout: 2 * patienceMs },
    async () => {
      const contents = async (of: Daemon): Promise<string[]> => {
        const { memories } = await call(of, 'POST', '/v3/documents/list', { limit: 200, includeContent: true });
        return memories.map(({ content }: { content: string }) => content).toSorted();
      };
      const add = (index: number) =>
        call(stage.daemon, 'POST', '/v3/documents', { content: `Kiln number ${index} is cold.` });
      for (let index = 0; index < 20; index++) await add(index);
      const before = await contents(stage.daemon);
      expect(before).toHaveLength(20);

      const page = await stage.openSignedIn();
      await stage.show(page, 'system', 'System');
      const backups = page.getByRole('region', { name: 'Backups' });
      await backups.getByText('There is none yet.').waitFor();
      await backups.getByRole('button', { name: 'Back up now' }).click();
      for (let index = 20; index < 40; index++) await add(index);
      await page.getByText('The backup is made.').waitFor({ timeout: patienceMs });
      const path = (await backups.getByRole('listitem').locator('code').textContent())!;
      expect(path.startsWith(stage.daemon.dataDir)).toBe(true);
      expect(await contents(stage.daemon)).toHaveLength(40);

      const restored = await startDaemon({ dataDir: path, env });
      try {
        const after = await contents(restored);
        expect(after).toEqual(expect.arrayContaining(before));
        const found = async () => {
          const body = { q: 'which kiln is cold', searchMode: 'documents' };
          return (await call(restored, 'POST', '/v4/search', body)).results.length as number;
        };
        await expect.poll(found, within).toBeGreaterThan(0);
      } finally {
        await restored.stop();
      }
      await page.context().close();
    },
  );

  it('are kept as many as somebody asks for', { timeout: 4 * patienceMs }, async () => {
    const make = (body: object) => call(stage.daemon, 'POST', '/v3/system/backups', body);
    const names = async () => {
      const { offered, backups } = await call(stage.daemon, 'GET', '/v3/system/backups');
      expect(offered).toBe(true);
      return backups.map(({ name }: { name: string }) => name) as string[];
    };
    const [first] = await names();
    const second = await make({});
    expect(await names()).toEqual([second.name, first]);
    const third = await make({ keep: 2 });
    expect(await names()).toEqual([third.name, second.name]);
    await rm(third.path, { recursive: true });
    expect(await names()).toEqual([second.name]);
  });
});

describeWithBrowser('backups by a schedule in the console in a browser', () => {
  const stage = useConsole(async () => {
    const dataDir = await temporaryFolder('memoryd-backups-test-');
    await putEmptyDatabase(dataDir);
    // Where a file stands no folder of backups can be made.
    await writeFile(join(dataDir, 'backups'), '');
    return { dataDir, env: { ...env, MEMORYD_BACKUP_SCHEDULE: '0 3 * * *', MEMORYD_BACKUP_KEEP: '3' } };
  });

  it('are missed on the first page until one is made', { timeout: 2 * patienceMs }, async () => {
    await call(stage.daemon, 'POST', '/v3/documents', { content: 'The kiln is cold.' });
    const page = await stage.openSignedIn();
    await page.getByRole('link', { name: 'The last backup failed' }).click();
    await page.getByRole('heading', { level: 1, name: 'System' }).waitFor();
    const backups = page.getByRole('region', { name: 'Backups' });
    await backups.getByText(/^The backup of .+ failed\./).waitFor();
    await backups.getByText('0 3 * * *, the newest 3 stay').waitFor();
    await rm(join(stage.daemon.dataDir, 'backups'));
    await backups.getByRole('button', { name: 'Back up now' }).click();
    await backups.getByRole('listitem').waitFor({ timeout: patienceMs });
    await expect.poll(() => backups.getByText(/failed/).count(), within).toBe(0);
    await stage.show(page, '', 'Home');
    expect(await page.getByText('The last backup failed').count()).toBe(0);
    await page.context().close();
  });
});
