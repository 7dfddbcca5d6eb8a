import { beforeEach, describe, expect, test } from 'vitest';
import { connections, folderId, imapId, otherId, progress, useCliFixture } from '../support/cli-fixture.ts';

const cli = useCliFixture();

const path = (id: string, rest: string) => `/v3/connections/${id}/${rest}`;
const quiet = progress('completed', 0);
beforeEach(() => {
  cli.api.on('POST /v3/connections/list', () => connections);
  for (const { id } of connections) cli.api.on(`GET ${path(id, 'progress')}`, () => quiet);
});

describe('failures', () => {
  const document = (id: string, nextRetryAt: string | null) => ({
    id,
    connectionId: folderId,
    customId: `folder:/srv/notes/${id}.pdf`,
    title: null,
    filepath: `${id}.pdf`,
    content: 'must not be shown',
    error: { code: 'extract_failed', message: 'The PDF file is damaged.', attempts: 1, nextRetryAt },
  });
  const item = (fields: object) => ({
    id: 'x',
    path: null,
    title: null,
    documentId: null,
    nextRetryAt: null,
    ...fields,
  });
  const unreadable = item({ path: 'locked.md', state: 'failed', errorClass: 'forbidden', error: 'No permission.' });
  const waiting = item({ id: 'y', state: 'failed', errorClass: 'transient', nextRetryAt: '2026-03-01T11:00:00.000Z' });
  const tooLarge = item({ title: 'film.mkv', state: 'skipped', errorClass: 'too_large', error: 'It has 9 GB.' });
  const listed = (ids: string[], totalItems = ids.length) =>
    cli.api.on('POST /v3/documents/list', () => ({ memories: ids.map((id) => ({ id })), pagination: { totalItems } }));
  beforeEach(() => {
    cli.api.on('GET /v3/documents/a', () => document('a', null));
    cli.api.on('GET /v3/documents/b', () => document('b', '2026-03-01T10:00:00.000Z'));
  });

  test('shows failed documents, failed and skipped items with their reasons, and a sync that ended early', async () => {
    listed(['a', 'b'], 102);
    const items = { pending: 0, done: 3, failed: 3, skipped: 41 };
    const run = {
      startedAt: '2026-03-01T09:00:00.000Z',
      error: 'The disk is away.',
      errorCode: 'provider_unavailable',
    };
    cli.api.on(`GET ${path(folderId, 'progress')}`, () => ({ ...progress('failed', 0, run), items }));
    cli.api.on(`GET ${path(folderId, 'items')}`, ({ path: asked }) => ({
      items: asked.includes('state=skipped') ? [tooLarge] : [unreadable, waiting],
      next: null,
    }));
    const { exitCode, stdout, stderr } = await cli.run(['failures']);
    expect(exitCode).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^WHAT +CODE +NEXT TRY +WHY$/);
    expect(lines[1]).toMatch(/^a\.pdf +extract_failed +- +The PDF file is damaged\.$/);
    expect(lines[2]).toMatch(/^b\.pdf +extract_failed +2026-03-01 .* +The PDF file is damaged\.$/);
    expect(lines[3]).toMatch(/^sync of 2026-.* +provider_unavailable +- +The disk is away\.$/);
    expect(lines[4]).toMatch(/^locked\.md +forbidden +- +No permission\.$/);
    expect(lines[5]).toMatch(/^y +transient +2026-03-01 .* +-$/);
    expect(lines[6]).toMatch(/^film\.mkv +too_large +- +It has 9 GB\.$/);
    expect(lines).toHaveLength(7);
    expect(stderr).toContain('100 more failed documents.');
    expect(stderr).toContain(
      `folder /srv/notes: 1 more item failed; \`memoryd items ${folderId} --state failed,dead\``,
    );
    expect(stderr).toContain(`folder /srv/notes: 40 more items skipped; \`memoryd items ${folderId} --state skipped\``);
    // Of connections where nothing failed, no items are asked for.
    expect(cli.api.seen().filter((line) => line.includes('/items?'))).toHaveLength(2);
  });

  test('says once that a document failed that came from a connection', async () => {
    listed(['a']);
    const failed = item({ path: 'a.pdf', state: 'failed', documentId: 'a', error: 'The PDF file is damaged.' });
    cli.api.on(`GET ${path(folderId, 'progress')}`, () => ({ ...quiet, items: { ...quiet.items, failed: 1 } }));
    cli.api.on(`GET ${path(folderId, 'items')}`, () => ({ items: [failed], next: null }));
    const { stdout } = await cli.run(['failures']);
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringContaining('WHAT'),
      expect.stringMatching(/^a\.pdf .*The PDF file is damaged\.$/),
    ]);
  });

  test('of one connection as JSON, without the content of documents', async () => {
    listed(['a']);
    const { stdout } = await cli.run(['failures', 'imap', '--json']);
    const { content: _, ...shown } = document('a', null);
    expect(JSON.parse(stdout)).toEqual({
      documents: [shown],
      totalDocuments: 1,
      connections: [
        { id: imapId, name: 'imap mail.example.com', items: quiet.items, failed: [], skipped: [], run: null },
      ],
    });
    const asked = cli.api.requests.find(({ path: asking }) => asking === '/v3/documents/list')!.body;
    expect(asked).toEqual({ status: 'failed', limit: 100, connectionId: imapId });
  });

  test('says that there are none', async () => {
    listed([]);
    expect(await cli.run(['failures'])).toEqual({ exitCode: 0, stdout: '', stderr: 'Nothing failed.\n' });
    expect(await cli.run(['failures', 'gmail'])).toMatchObject({ exitCode: 2 });
  });
});

describe('held deletions', () => {
  const held = { ...quiet, heldDeletes: 12 };
  const decided = () => cli.api.seen().filter((line) => line.includes('pending-deletes'));
  beforeEach(() => {
    cli.api.on(`GET ${path(imapId, 'progress')}`, () => held);
    for (const decision of ['confirm', 'reject']) {
      cli.api.on(`POST ${path(imapId, `pending-deletes/${decision}`)}`, () => quiet);
    }
  });

  test.each([
    ['--confirm-deletes', 'confirm', '12 documents will be deleted by the sync that starts now.'],
    ['--keep-deletes', 'reject', '12 documents kept, until other items go missing too.'],
  ])('%s answers them and starts no other sync', async (option, decision, message) => {
    const result = await cli.run(['sync', 'imap', option, '--json']);
    expect(result).toMatchObject({ exitCode: 0, stderr: `imap mail.example.com: ${message}\n` });
    expect(JSON.parse(result.stdout)).toEqual([{ connectionId: imapId, heldDeletes: 12, progress: quiet }]);
    expect(decided()).toEqual([`POST ${path(imapId, `pending-deletes/${decision}`)}`]);
    expect(cli.api.seen().filter((line) => line.endsWith('/sync'))).toEqual([]);
  });

  test('where none are held nothing is decided', async () => {
    const result = await cli.run(['sync', otherId, '--confirm-deletes']);
    expect(result).toMatchObject({ exitCode: 0, stderr: 'folder /srv/wiki: no deletions are held.\n' });
    expect(decided()).toEqual([]);
  });

  test('--wait waits for the sync that deletes them', async () => {
    const running = { ...progress('running', 0, { id: 'R2' }), heldDeletes: 12 };
    cli.api.on(`POST ${path(imapId, 'pending-deletes/confirm')}`, () => running);
    const views = [held, { ...held, run: { ...held.run, id: 'R1' } }, running];
    cli.api.on(`GET ${path(imapId, 'progress')}`, () => views.shift() ?? progress('completed', 0, { id: 'R2' }));
    const result = await cli.run(['sync', 'imap', '--confirm-deletes', '--wait', '--json']);
    expect(result.exitCode).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject([{ heldDeletes: 12, progress: { run: { id: 'R2' } } }]);
    expect(views).toEqual([]);
  });

  test.each([
    [['--keep-deletes', '--confirm-deletes']],
    [['--confirm-deletes', '--full']],
    [['--keep-deletes', '--full']],
  ])('%j contradict each other', async (options) => {
    expect(await cli.run(['sync', 'imap', ...options])).toMatchObject({ exitCode: 2 });
    expect(cli.api.requests).toEqual([]);
  });

  test('several connections must be named or all', async () => {
    expect(await cli.run(['sync', '--confirm-deletes'])).toMatchObject({ exitCode: 2 });
    expect(decided()).toEqual([]);
  });
});
