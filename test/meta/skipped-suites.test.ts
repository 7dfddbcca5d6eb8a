import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const support = join(import.meta.dirname, '../support');
const vitest = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs');
const suites = `
  import { describeWithBrowser } from '${support}/browser.ts';
  import { describeWhen } from '${support}/services.ts';
  describeWhen(undefined, 'there is no lamp', 'in light', () => it('reads', () => {}));
  describeWhen('a lamp', 'there is no lamp', 'by a lamp', () => it('reads', () => {}));
  describeWithBrowser('in a browser', () => it('reads', () => {}));
`;

interface Report {
  success: boolean;
  testResults: { message: string; assertionResults: { status: string; fullName: string }[] }[];
}

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, 'lamp.test.ts'), suites);
});
afterAll(() => rm(folder, { recursive: true }));

/** What a run of those suites on a machine with neither says of them. */
async function runSuites(changes: NodeJS.ProcessEnv): Promise<Report> {
  const { CI: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [vitest, 'run', '--globals', '--reporter=json', '--root', folder],
    { cwd: folder, env: { ...env, CHROMIUM_PATH: '/no/such/chromium', ...changes } },
  ).catch((failed: { stdout: string }) => failed);
  return JSON.parse(stdout) as Report;
}

describe('suites whose parts a machine may lack', () => {
  it('are skipped and say why', async () => {
    const report = await runSuites({});
    expect(report.testResults[0]!.assertionResults).toMatchObject([
      { status: 'skipped', fullName: 'in light (there is no lamp) reads' },
      { status: 'passed', fullName: 'by a lamp reads' },
      {
        status: 'skipped',
        fullName: expect.stringMatching(/in a browser \(CHROMIUM_PATH names nothing: .*; apt-get install .*chromium/),
      },
    ]);
  });

  it('fail in the continuous integration', async () => {
    const report = await runSuites({ CI: 'true' });
    expect(report.success).toBe(false);
    expect(report.testResults[0]!.message).toContain('Every suite must run in CI, but there is no lamp.');
  });
});
