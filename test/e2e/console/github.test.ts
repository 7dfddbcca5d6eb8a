import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { createGithubConsent } from '../../../fixtures/servers/github/github-consent.ts';
import { serveGithub } from '../../../fixtures/servers/github/github-server.ts';
import { createGithubSource } from '../../../fixtures/servers/github/github-source.ts';
import { createMemoryGit } from '../../../fixtures/servers/github/memory-git.ts';
import { accessibilityViolations, describeWithBrowser } from '../../support/browser.ts';
import { useConsole, within } from '../../support/console-page.ts';
import { call } from '../../support/memory-of.ts';

const clock = { now: () => new Date() };

describeWithBrowser('GitHub in the console in a browser', () => {
  const consent = createGithubConsent();
  const source = createGithubSource(clock, createMemoryGit);
  for (const name of ['handbook', 'website', 'archive']) {
    source.addRepository(`acme/${name}`).git.commit({ 'readme.md': `# ${name}\n\nAll about the ${name}.\n` });
  }
  let github: Awaited<ReturnType<typeof serveGithub>>;
  const stage = useConsole(async () => {
    github = await serveGithub({ source, clock, token: consent.isToken, gate: consent.gate });
    return {
      env: {
        GITHUB_CLIENT_ID: consent.client.id,
        GITHUB_CLIENT_SECRET: consent.client.secret,
        MEMORYD_ALLOW_PRIVATE_URLS: 'true',
        MEMORYD_EMBEDDER_KIND: 'hashing',
      },
    };
  });
  afterAll(async () => {
    source.close();
    await github?.close();
  });

  /** Fills the form in up to the button that leads to GitHub. */
  const fillIn = async (page: Page) => {
    await stage.show(page, 'sources/add/github', 'Add GitHub');
    await page.getByLabel('Log in with GitHub').check();
    await page.getByText('More settings').click();
    await page.getByLabel('API address').fill(github.apiUrl);
    await page.getByLabel('Web address').fill(github.url);
  };
  const openConsent = async (page: Page) => {
    const button = page.getByRole('button', { name: 'Continue at the source' });
    const [popup] = await Promise.all([page.waitForEvent('popup'), button.click()]);
    await popup.getByRole('heading', { name: 'Authorize memoryd' }).waitFor();
    return popup;
  };
  const documents = async (): Promise<string[]> => {
    const { memories } = await call(stage.daemon, 'POST', '/v3/documents/list', { includeContent: true });
    return memories.map(({ content }: { content: string | null }) => content ?? '').toSorted();
  };
  let page: Page;

  it('shows the very address to which the source sends the browser back', async () => {
    page = await stage.openSignedIn();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await fillIn(page);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied to the clipboard.').waitFor();
    const address = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(new URL(address).pathname).toBe('/v3/connections/auth/callback/github');
    consent.register(address);
  });

  it('explains a consent that was refused, and lets one try again', async () => {
    const popup = await openConsent(page);
    const link = popup.getByRole('link', { name: 'Cancel' });
    await Promise.all([popup.waitForEvent('close'), link.click()]);
    await page.getByRole('alert').getByText('Access was refused at the source').waitFor();
    expect(await call(stage.daemon, 'POST', '/v3/connections/list', {})).toEqual([]);
    await page.getByRole('button', { name: 'Back to the form' }).click();
    expect(await page.getByLabel('API address').inputValue()).toBe(github.apiUrl);
  });

  it('connects by a consent in a window of its own, which ends by itself', async () => {
    const popup = await openConsent(page);
    expect(await popup.evaluate('window.opener')).toBeNull();
    const link = popup.getByRole('link', { name: 'Authorize' });
    await Promise.all([popup.waitForEvent('close'), link.click()]);
    await page.getByText('Needs configuration').waitFor();
    await page.getByText('No repository is chosen').first().waitFor();
    // Nothing is wrong with the daemon.
    expect((await call(stage.daemon, 'GET', '/v3/system/warnings')).warnings).toEqual([]);
  });

  it('mirrors what is chosen in a tree that can be searched, and nothing else', async () => {
    await page.getByRole('button', { name: 'Choose what is mirrored' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'acme/archive' }).waitFor();
    await dialog.getByRole('searchbox').fill('HAND');
    await dialog.getByRole('checkbox', { name: 'acme/archive' }).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Show what is in acme/handbook' }).click();
    await dialog.getByRole('checkbox', { name: 'main' }).check();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole('searchbox').fill('nothing like it');
    await dialog.getByText('Nothing that is open here has this name.').waitFor();
    await dialog.getByRole('searchbox').fill('');
    await dialog.getByRole('checkbox', { name: 'acme/archive' }).waitFor();
    await dialog.getByText('1 chosen').waitFor();
    await dialog.getByRole('button', { name: 'Mirror what is chosen' }).click();
    await page.getByText('Up to date').waitFor();
    await page.getByRole('list', { name: 'Items' }).getByText('readme.md').waitFor();
    await expect.poll(documents, within).toEqual([expect.stringContaining('All about the handbook.')]);
  });

  it('keeps what was chosen before, also where nobody opens the branch', async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Choose what is mirrored' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'acme/website' }).check();
    expect(await dialog.getByRole('checkbox', { name: 'main' }).count()).toBe(0);
    await dialog.getByText('2 chosen').waitFor();
    await dialog.getByRole('button', { name: 'Mirror what is chosen' }).click();
    const both = ['handbook', 'website'].map((name) => expect.stringContaining(`All about the ${name}.`));
    await expect.poll(documents, within).toEqual(both);
  });
});
