import { beforeEach, describe, expect, test } from 'vitest';
import { heartbeatText, retryText } from '../../src/api/routes/syncs.ts';
import { connection, connections, folderId, imapId, otherId, progress, useCliFixture } from '../support/cli-fixture.ts';
import { createJumpingClock, createScreen } from '../support/command-line.ts';

const cli = useCliFixture();

const path = (id: string, rest: string) => `/v3/connections/${id}/${rest}`;
const run = (fields: object = {}) => ({
  id: 'R1',
  connectionId: imapId,
  status: 'completed',
  mode: 'full',
  triggerType: 'manual',
  dryRun: false,
  startedAt: '2026-03-01T09:00:00.000Z',
  completedAt: '2026-03-01T09:03:00.000Z',
  itemsSeen: 118,
  itemsTotal: 118,
  itemsAdded: 116,
  itemsUpdated: 1,
  itemsDeleted: 0,
  itemsSkipped: 0,
  itemsFailed: 1,
  etaMs: null,
  error: null,
  errorCode: null,
  failures: [],
  warnings: [],
  ...fields,
});
const item = (id: string, fields: object = {}) => ({
  id,
  path: null,
  title: null,
  state: 'skipped',
  errorClass: 'too_large',
  attempts: 1,
  nextRetryAt: null,
  error: 'It has 9 GB.',
  ...fields,
});
const event = (name: string, id: string, view: object) =>
  `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(view)}\n\n`;

beforeEach(() => cli.api.on('POST /v3/connections/list', () => connections));

describe('runs', () => {
  test('lists them, with the time that is left', async () => {
    const running = run({ id: 'R2', status: 'running', completedAt: null, etaMs: 95_000 });
    cli.api.on(`GET ${path(imapId, 'sync-runs')}`, () => [running, run({ error: 'The server is away.' })]);
    const { stdout } = await cli.run(['runs', 'imap', '--limit', '7']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[1]).toMatch(/^R2 .* - +full +manual +running, 2 min left +116 +1 +0 +1 +-$/);
    expect(lines[2]).toMatch(/^R1 .* 3 min +full +manual +completed .* The server is away\.$/);
    expect(cli.api.seen()).toContain(`GET ${path(imapId, 'sync-runs')}?limit=7`);
    expect(JSON.parse((await cli.run(['runs', 'imap', '--json'])).stdout)).toHaveLength(2);
  });

  test('shows one with its warnings and failures', async () => {
    const failures = [{ customId: 'imap:1', documentId: null, title: 'Minutes', error: 'It is damaged.' }];
    const warnings = [{ partitionId: 'INBOX', code: 'incomplete', message: 'The server left something out.' }];
    cli.api.on(`GET ${path(imapId, 'sync-runs/R1')}`, () => run({ failures, warnings, dryRun: true }));
    const { stdout } = await cli.run(['runs', 'imap', 'R1']);
    expect(stdout).toContain('118 seen of 118, 116 added, 1 updated, 0 deleted, 0 skipped, 1 failed');
    expect(stdout).toContain('full, dry, by manual');
    expect(stdout).toMatch(/^INBOX +incomplete +The server left something out\.$/m);
    expect(stdout).toMatch(/^Minutes +It is damaged\.$/m);
  });
});

describe('items', () => {
  test('reads as many pages as are needed, and says when there are more', async () => {
    const pages = [
      { items: [item('a', { path: 'films/a.mkv' })], next: 'c1' },
      { items: [item('b')], next: 'c2' },
    ];
    cli.api.on(`GET ${path(imapId, 'items')}`, () => pages.shift()!);
    const result = await cli.run([
      'items',
      'imap',
      '--state',
      'skipped,failed',
      '--class',
      'too_large',
      '--limit',
      '2',
    ]);
    const lines = result.stdout.trimEnd().split('\n');
    expect(lines[1]).toMatch(/^films\/a\.mkv +skipped +too_large +1 +- +It has 9 GB\.$/);
    expect(lines[2]).toMatch(/^b +skipped/);
    expect(result.stderr).toContain('There are more; --limit shows more than 2.');
    expect(cli.api.seen().slice(1)).toEqual([
      `GET ${path(imapId, 'items')}?limit=2&state=skipped%2Cfailed&class=too_large`,
      `GET ${path(imapId, 'items')}?limit=1&cursor=c1&state=skipped%2Cfailed&class=too_large`,
    ]);
  });

  test('of the only connection need no name', async () => {
    cli.api.on(`GET ${path(folderId, 'items')}`, () => ({ items: [item('a', { path: 'a.md' })], next: null }));
    cli.api.on('POST /v3/connections/list', () => [connection({})]);
    expect(await cli.run(['items'])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('a.md') });
    cli.api.on('POST /v3/connections/list', () => connections);
    const many = await cli.run(['items']);
    expect(many).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('There are 3 connections: name one.') });
    cli.api.on('POST /v3/connections/list', () => []);
    const none = await cli.run(['items']);
    expect(none).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Nothing is connected.') });
  });

  test('refuses a state that there is not', async () => {
    expect(await cli.run(['items', 'imap', '--state', 'lost'])).toMatchObject({ exitCode: 2 });
    expect(cli.api.requests).toEqual([]);
  });
});

describe('retry', () => {
  const asked = () => cli.api.requests.filter(({ path: one }) => one.includes('/items'));
  beforeEach(() => cli.api.on(`POST ${path(imapId, 'items/retry')}`, () => ({ retried: 3 })));

  test('of everything that failed, or of what is described', async () => {
    const all = await cli.run(['retry', 'imap']);
    expect(all).toMatchObject({ exitCode: 0, stdout: 'imap mail.example.com: 3 items read again now.\n' });
    await cli.run(['retry', 'imap', '--state', 'skipped', '--class', 'too_large']);
    expect(asked().map(({ body }) => body)).toEqual([{}, { state: ['skipped'], class: ['too_large'] }]);
  });

  test('of single items, whose ids may hold anything', async () => {
    cli.api.on(`POST ${path(imapId, 'items/notes%2Fplan.md/retry')}`, () => item('notes/plan.md'));
    const result = await cli.run(['retry', 'imap', 'notes/plan.md', '--json']);
    expect(JSON.parse(result.stdout)).toEqual({ retried: 1 });
    expect(await cli.run(['retry', 'imap', 'a', '--state', 'dead'])).toMatchObject({ exitCode: 2 });
  });
});

describe('check', () => {
  const checks = [
    {
      name: 'login',
      title: 'Log in',
      status: 'failed',
      detail: 'The password is wrong.',
      remedy: 'Give the right one.',
    },
    { name: 'folders', title: 'List folders', status: 'unknown' },
  ];
  beforeEach(() => {
    for (const { id } of connections) cli.api.on(`POST ${path(id, 'check')}`, () => ({ ok: true, checks: [] }));
  });

  test('asks every source, and fails when one does not work', async () => {
    cli.api.on(`POST ${path(imapId, 'check')}`, () => ({ ok: false, checks }));
    const { exitCode, stdout, stderr } = await cli.run(['check']);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('1 connection does not work.')]);
    expect(stdout).toBe(
      [
        'folder /srv/notes: works',
        'folder /srv/wiki: works',
        'imap mail.example.com: does not work',
        '  failed  Log in: The password is wrong.',
        '          Give the right one.',
        '  unknown List folders\n',
      ].join('\n'),
    );
  });

  test('of one as JSON', async () => {
    const { exitCode, stdout } = await cli.run(['check', otherId, '--json']);
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, [{ connectionId: otherId, ok: true, checks: [] }]]);
  });
});

test('cancel ends the sync that runs', async () => {
  cli.api.on(`POST ${path(imapId, 'cancel')}`, () => run({ status: 'failed', error: 'cancelled' }));
  const result = await cli.run(['cancel', 'imap']);
  expect(result).toMatchObject({ exitCode: 0, stdout: `Cancelled the sync R1 of imap ${imapId}.\n` });
  cli.api.on(`POST ${path(imapId, 'cancel')}`, () => [409, { error: 'No sync is running.' }]);
  expect(await cli.run(['cancel', 'imap'])).toMatchObject({ exitCode: 1, stderr: 'memoryd: No sync is running.\n' });
});

describe('connections show', () => {
  test('tells everything about one', async () => {
    const filters = { include: ['*.md'] };
    const shown = { schedule: '10m', allowedHours: '22:00-06:00', filters, statusReason: null };
    cli.api.on('POST /v3/connections/list', () => [connection(shown)]);
    const problem = { partition: 'p', title: 'Archive', state: 'paused', code: 'forbidden', reason: 'No access.' };
    const view = { ...progress('completed', 0), heldDeletes: 2, problems: [problem] };
    cli.api.on(`GET ${path(folderId, 'progress')}`, () => view);
    const { stdout } = await cli.run(['connections', 'show', 'folder']);
    for (const line of [
      `id          ${folderId}`,
      'schedule    10m, within 22:00-06:00',
      'filters     {"include":["*.md"]}',
      'problem     Archive: No access.',
    ]) {
      expect(stdout.split('\n')).toContain(line);
    }
    expect(stdout).toContain('--confirm-deletes');
    const asJson = JSON.parse((await cli.run(['connections', 'show', 'folder', '--json'])).stdout);
    expect(asJson).toMatchObject({ id: folderId, progress: { heldDeletes: 2 } });
  });
});

describe('sync --dry-run', () => {
  const report = {
    added: { count: 52, ids: ['new.md'] },
    updated: { count: 1, ids: ['plan\u001b[31m.md'] },
    deleted: { count: 0, ids: [] },
    incomplete: null,
  };
  const dry = (fields: object) => run({ dryRun: true, ...fields });
  beforeEach(() => {
    cli.api.on(`POST ${path(imapId, 'sync')}`, () => [202, dry({ status: 'running' })]);
  });

  test('waits and says what a sync would change', async () => {
    const states = [dry({ status: 'running' }), dry({ report })];
    cli.api.on(`GET ${path(imapId, 'sync-runs/R1')}`, () => states.shift()!);
    const { exitCode, stdout } = await cli.run(['sync', 'imap', '--full', '--dry-run']);
    expect(exitCode).toBe(0);
    expect(stdout.trimEnd().split('\n')).toEqual([
      'imap mail.example.com: 52 would be added, 1 updated, 0 deleted.',
      '+ new.md',
      '+ … and 51 more',
      '~ plan.md',
    ]);
    expect(cli.api.requests.find(({ path: asked }) => asked.endsWith('/sync'))!.body).toEqual({
      mode: 'full',
      dryRun: true,
    });
  });

  test('fails when the run does', async () => {
    cli.api.on(`GET ${path(imapId, 'sync-runs/R1')}`, () => dry({ status: 'failed', error: 'The server is away.' }));
    const result = await cli.run(['sync', 'imap', '--dry-run', '--json']);
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('1 dry run failed.') });
    expect(JSON.parse(result.stdout)).toMatchObject([{ connectionId: imapId, run: { error: 'The server is away.' } }]);
  });

  test.each(['--confirm-deletes', '--keep-deletes'])('excludes %s', async (option) => {
    expect(await cli.run(['sync', 'imap', '--dry-run', option])).toMatchObject({ exitCode: 2 });
    expect(cli.api.requests).toEqual([]);
  });
});

describe('sync --wait', () => {
  const events = (id: string, runId = 'R1') => `GET ${path(id, `runs/${runId}/events`)}`;
  const followed = () => cli.api.requests.filter(({ path: asked }) => asked.includes('/events'));
  beforeEach(() => {
    for (const { id } of connections) {
      cli.api.on(`POST ${path(id, 'sync')}`, () => [202, run({ connectionId: id, status: 'running' })]);
      cli.api.on(events(id), () => event('end', 'end', progress('completed', 0)));
    }
  });

  test('follows the events of the run, as they come', async () => {
    const stderr = createScreen({ isTTY: true });
    cli.api.on(events(imapId), () =>
      [
        retryText(2_000),
        heartbeatText,
        event('progress', 'a', progress('running', 2)),
        event('end', 'end', progress('completed', 0)),
      ].join(''),
    );
    const result = await cli.run(['sync', 'imap', '--wait', '--json'], { stderr });
    expect(result.exitCode).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject([{ connectionId: imapId, progress: { run: { id: 'R1' } } }]);
    expect(result.stderr).toContain('imap mail.example.com: 3 seen, 1 done, 0 failed');
    expect(followed()[0]).toMatchObject({ path: expect.stringContaining('?until=documents') });
    expect(followed()[0]!.headers).toMatchObject({ accept: 'text/event-stream' });
    expect(cli.api.seen().filter((line) => line.endsWith('/progress'))).toEqual([]);
  });

  test('goes on after a break where it was', async () => {
    const answers = [event('progress', 'a', progress('running', 2)), event('end', 'end', progress('completed', 0))];
    cli.api.on(events(imapId), () => answers.shift()!);
    expect(await cli.run(['sync', 'imap', '--wait'])).toMatchObject({ exitCode: 0 });
    expect(followed().map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'a']);
  });

  test('gives up when the daemon is gone', async () => {
    cli.api.on(events(imapId), () => [500, 'away']);
    const result = await cli.run(['sync', 'imap', '--wait']);
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(500 to GET') });
  });

  test('with --all waits for all of them, also when one fails', async () => {
    cli.api.on(events(folderId), () => event('end', 'end', progress('failed', 0, { error: 'The disk is away.' })));
    const result = await cli.run(['sync', '--all', '--wait', '--json']);
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('The sync failed.') });
    expect(
      JSON.parse(result.stdout).map((one: { progress: { run: { status: string } } }) => one.progress.run.status),
    ).toEqual(['failed', 'completed', 'completed']);
    expect(result.stderr).toContain('The sync ended early: The disk is away.');
  });

  test('Ctrl-C leaves the sync running', async () => {
    const controller = new AbortController();
    cli.api.on(events(imapId), () => event('progress', 'a', progress('running', 2)));
    const clock = createJumpingClock(() => controller.abort());
    const result = await cli.run(['sync', 'imap', '--wait'], { clock, signal: controller.signal });
    expect(result).toMatchObject({
      exitCode: 130,
      stderr: expect.stringContaining('The sync continues in the daemon.'),
    });
  });
});

test('keys revoke says that there is no such key', async () => {
  cli.api.on('DELETE /v3/auth/scoped-key/nosuch', () => [404, { error: 'Key not found' }]);
  const result = await cli.run(['keys', 'revoke', 'nosuch', '--json']);
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toBe(
    'memoryd: There is no key nosuch.\n`memoryd keys list` shows the ids of the keys there are.\n',
  );
  expect(JSON.parse(result.stdout)).toMatchObject({ error: 'There is no key nosuch.' });
});
