import { expect, it } from 'vitest';
import { describeWithBrowser } from '../../support/browser.ts';
import { signIn, useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';

describeWithBrowser('wrong keys in the console in a browser', () => {
  const stage = useConsole();

  it('are told on the first page until somebody looks at the log', async () => {
    const { daemon } = stage;
    const json = { 'content-type': 'application/json' };
    await fetch(`${daemon.url}/v3/status`, { headers: { authorization: 'Bearer nobody' } });
    await fetch(`${daemon.url}/console/session`, { method: 'POST', headers: json, body: '{"key":"nobody"}' });
    const denied = async () =>
      (await call(daemon, 'GET', '/v3/audit?outcome=denied')).events.map(({ action }: { action: string }) => action);
    await expect.poll(denied, within).toHaveLength(2);
    expect((await denied()).sort()).toEqual(['console.sign-in', 'key.wrong']);

    const page = await stage.openSignedIn();
    await page.getByText('2 wrong keys were given in the last day').waitFor();
    await page.getByText(/From .*127\.0\.0\.1\. Look at the security log/).click();
    const log = page.getByRole('region', { name: 'Security log' });
    await log.getByText('key.wrong').waitFor();
    await log.getByText('console.sign-in').waitFor();
    expect(await page.getByRole('region').first().getAttribute('aria-label')).toBe('Security log');
    await stage.show(page, '', 'Home');
    await page.getByText('Nothing is remembered yet').waitFor();
    expect(await page.getByText('wrong key').count()).toBe(0);
    await page.context().close();
  });

  it('are not told to a key that may not see the log', async () => {
    const body = { containerTag: 'sm_project_default', name: 'laptop' };
    const { key } = await call(stage.daemon, 'POST', '/v3/auth/scoped-key', body);
    const page = await stage.open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await signIn(page, stage.daemon.url, key);
    await page.getByText('Nothing is remembered yet').waitFor();
    expect(asked.filter((url) => url.includes('/v3/audit'))).toEqual([]);
    await page.context().close();
  });
});
