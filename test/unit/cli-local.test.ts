import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { PullRequest, Screen } from '../../src/cli/context.ts';
import { connection, folderId, useCliFixture } from '../support/cli-fixture.ts';

const cli = useCliFixture();

describe('commands without a daemon', () => {
  test('config shows every value, where it comes from, and no secret', async () => {
    const env = { MEMORYD_API_KEY: 'sm_canary_key', DATABASE_URL: 'postgresql://u:canary@db/x', PORT: '8080' };
    const result = await cli.run(['config'], { env });
    expect(result.stdout).toMatch(/^port +8080 +environment variable PORT$/m);
    expect(result.stdout).toMatch(/^apiKey +\*{8} +environment variable MEMORYD_API_KEY$/m);
    expect(result.stdout).toMatch(/^host +127\.0\.0\.1$/m);
    const json = await cli.run(['config', '--json'], { env });
    expect(JSON.parse(json.stdout)).toMatchObject({
      file: null,
      settings: { port: { value: 8080, source: 'environment variable PORT' }, databaseUrl: { value: '********' } },
    });
    expect(result.stdout + json.stdout).not.toContain('canary');
  });

  test('config tells every problem and answers 2', async () => {
    const result = await cli.run(['config', '--json'], { env: { PORT: 'x', MEMORYD_ROLE: 'y', API_KEY: 'canary' } });
    expect(result.exitCode).toBe(2);
    expect(JSON.parse(result.stdout).error).toMatch(/^The configuration has 3 problems:/);
    expect(result.stderr).toContain('`memoryd config` shows the effective values');
    expect(result.stdout + result.stderr).not.toContain('canary');
  });

  const report = (ok: boolean) => ({
    id: 'minilm-l6-v2',
    runtime: 'onnxruntime-web',
    ok,
    checks: [
      { name: 'vectors', ok, detail: 'cosine 0.9999' },
      { name: 'order', ok: true, detail: '' },
    ],
  });
  const embedder = (ok: boolean, closed: string[] = []) => ({
    createEmbedder: async () => ({ verify: async () => report(ok), close: async () => void closed.push('closed') }),
  });

  test('models verify prints each check and lets the model go', async () => {
    const closed: string[] = [];
    const result = await cli.run(['models', 'verify'], { env: {}, ...embedder(true, closed) });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toBe('minilm-l6-v2 on onnxruntime-web\n  ok      vectors  cosine 0.9999\n  ok      order\n');
    expect(closed).toEqual(['closed']);
  });

  test('models verify answers 1 when a check fails, with one JSON document', async () => {
    const result = await cli.run(['models', 'verify', '--json'], { env: {}, ...embedder(false) });
    expect(result.exitCode).toBe(1);
    expect(JSON.parse(result.stdout)).toEqual(report(false));
    expect(result.stderr).toContain('did not pass its test');
  });

  const listed = [
    { name: 'minilm', repository: null, languages: 'English', dimensions: 384, license: 'Apache-2.0', bytes: null },
    { name: 'tiny', repository: 'example/tiny', languages: 'many', dimensions: 32, license: 'MIT', bytes: 1_234_567 },
    { name: 'own', repository: 'example/own', languages: null, dimensions: null, license: null, bytes: 45_678 },
  ];
  const localModels = (done: string[] = []) => ({
    localModels: async () => ({
      list: async () => listed.map((model) => ({ ...model, installed: true, chosen: model.name === 'tiny' })),
      async pull({ model, onProgress }: PullRequest) {
        done.push(model);
        for (const receivedBytes of [0, 500, 2_000_000]) {
          onProgress({ file: 'onnx/model.onnx', receivedBytes, totalBytes: 2_000_000 });
        }
        return { name: 'tiny' };
      },
      choose: async (name: string) => void done.push(name),
    }),
  });

  test('models list shows what there is, and which one is in use', async () => {
    const result = await cli.run(['models', 'list'], { env: {}, ...localModels() });
    expect(result.stdout.split('\n').map((line) => line.trimEnd())).toEqual([
      'NAME    LANGUAGES  DIMENSIONS  SIZE    LICENCE     STATE',
      'minilm  English    384                 Apache-2.0  here',
      'tiny    many       32          1.2 MB  MIT         in use',
      'own                            46 kB               here',
      '',
    ]);
    expect(result.stderr).toBe('');
    const json = await cli.run(['models', 'list', '--json'], { env: {}, ...localModels() });
    expect(JSON.parse(json.stdout)[1]).toEqual({ ...listed[1], installed: true, chosen: true });
  });

  test('models pull says what arrives, and what can be done with it', async () => {
    const done: string[] = [];
    const result = await cli.run(['models', 'pull', 'tiny'], { env: {}, ...localModels(done) });
    expect(result).toMatchObject({ exitCode: 0, stderr: 'onnx/model.onnx (2.0 MB in all)\n' });
    expect(result.stdout).toContain('`memoryd models use tiny`');
    const terminal = { isTTY: true } as Screen;
    const live = await cli.run(['models', 'pull', 'tiny', '--json'], {
      env: {},
      stderr: terminal,
      ...localModels(done),
    });
    expect(live.stderr).toContain('onnx/model.onnx: 1 kB of 2.0 MB');
    expect(JSON.parse(live.stdout)).toEqual({ name: 'tiny' });
    expect(done).toEqual(['tiny', 'tiny']);
  });

  test('models use chooses nothing where a setting names the model', async () => {
    const done: string[] = [];
    const result = await cli.run(['models', 'use', 'tiny'], { env: {}, ...localModels(done) });
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('at its next start') });
    const env = { MEMORYD_EMBEDDER_KIND: 'minilm' };
    const refused = await cli.run(['models', 'use', 'tiny'], { env, ...localModels(done) });
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('embedder.kind is "minilm"') });
    const list = await cli.run(['models', 'list'], { env, ...localModels(done) });
    expect(list.stdout).not.toContain('in use');
    expect(list.stderr).toContain('embedder.kind is "minilm"');
    expect(done).toEqual(['tiny']);
  });

  test('doctor checks each part; a daemon that does not run is no fault', async () => {
    const good = await cli.run(['doctor', '--json'], { env: {}, ...embedder(true) });
    expect(good.exitCode).toBe(0);
    const findings: { name: string; ok: boolean; detail: string }[] = JSON.parse(good.stdout);
    expect(findings.map(({ name }) => name)).toEqual([
      'node',
      'configuration',
      'data directory',
      'connectors',
      'model',
      'language model',
      'daemon',
      'connections',
    ]);
    expect(findings[2]!.detail).toMatch(/\.memoryd \(not made yet\), [\d.]+ GiB free$/);
    expect(findings[3]!.detail).toMatch(/^folder, /);
    expect(findings[4]!.detail).toMatch(
      /^minilm-l6-v2 on onnxruntime-web\. It computes in WebAssembly, .* `memoryd models verify` says why/,
    );
    expect(findings[5]!.detail).toBe('not configured, memories are found by rules');
    expect(findings[6]!.detail).toMatch(/^No daemon runs/);
    const bad = await cli.run(['doctor'], { env: { MEMORYD_DATA_DIR: '/proc/none' }, ...embedder(false) });
    expect(bad.exitCode).toBe(1);
    expect(bad.stdout).toMatch(/^failed {2}data directory/m);
    expect(bad.stdout).toMatch(/^failed {2}model +vectors: cosine 0\.9999$/m);
  });

  test('doctor says what of the sources is not mirrored, and why', async () => {
    const problem = {
      partition: '/srv/notes',
      title: 'notes',
      state: 'paused',
      code: 'incomplete_listing',
      until: null,
    };
    let problems = [{ ...problem, reason: 'Could not be read: locked (EACCES).' }];
    cli.api.on('POST /v3/connections/list', () => [connection({ problems })]);
    const examine = async () => (await cli.run(['doctor'], embedder(true))).stdout;
    expect(await examine()).toMatch(
      new RegExp(`^failed {2}connections +${folderId}: notes: Could not be read: locked \\(EACCES\\)\\.$`, 'm'),
    );
    problems = [];
    expect(await examine()).toMatch(/^ok {6}connections +1, all of them can be read$/m);
  });

  test('doctor says which plugin is broken, and why', async () => {
    writeFileSync(join(cli.folder, 'broken.mjs'), "throw new Error('no such service');");
    writeFileSync(join(cli.folder, 'memoryd.config.json'), '{ "connectors": ["./broken.mjs"] }');
    const { stdout, exitCode } = await cli.run(['doctor'], { env: {}, clock: systemClock, ...embedder(true) });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^failed {2}connectors +\.\/broken\.mjs: It cannot be loaded: no such service \(broken\.mjs, line 1\)$/m,
    );
  });

  test('an unforeseen error is a failure', async () => {
    const createEmbedder = () => Promise.reject(new TypeError('broken'));
    const result = await cli.run(['models', 'verify'], { env: {}, createEmbedder });
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('TypeError: broken') });
  });
});
