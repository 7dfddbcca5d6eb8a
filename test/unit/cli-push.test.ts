import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { PushAnswer } from '../../src/inbound/push/push-service.ts';
import { connection, useCliFixture } from '../support/cli-fixture.ts';

const cli = useCliFixture();
const id = 'pushpushpushpushpush22';
const route = `POST /v3/connections/${id}/push`;

interface Sent {
  deliveryId: string;
  upserts: { id: string }[];
  deletes: string[];
  snapshot?: { id: string; page: number };
  completeSnapshot?: boolean;
}

function answer(sent: Sent, fields: Partial<PushAnswer> = {}): PushAnswer {
  return {
    deliveryId: sent.deliveryId,
    replayed: false,
    counts: {
      created: sent.upserts.length,
      updated: 0,
      unchanged: 0,
      skipped: 0,
      deleted: sent.deletes.length,
      failed: 0,
    },
    upserts: sent.upserts.map((one) => ({ id: one.id, status: 'created', documentId: 'd', error: null })),
    deletes: sent.deletes.map((one) => ({ id: one, status: 'deleted', error: null })),
    snapshot: null,
    ...fields,
  };
}

const sent = () =>
  cli.api.requests.filter(({ path }) => path.endsWith('/push')).map(({ body }) => body as unknown as Sent);
const file = (name: string, ...lines: unknown[]) =>
  writeFileSync(
    join(cli.folder, name),
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );
const items = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `i${index}`, text: `text ${index}` }));

describe('push', () => {
  beforeEach(() => {
    cli.api.on('POST /v3/connections/list', () => [
      connection({ id, provider: 'push', metadata: { name: 'default' } }),
    ]);
    cli.api.on(route, ({ body }) => answer(body as unknown as Sent));
  });

  test('sends the lines of a file in batches, with a delivery id for each', async () => {
    file('changes.jsonl', ...items(5), '', { id: 'gone', deleted: true });
    const result = await cli.run(['push', 'push', 'changes.jsonl', '--batch', '2']);
    expect(result).toMatchObject({ exitCode: 0, stdout: '' });
    expect(result.stderr).toBe(`push ${id}: 5 new, 0 changed, 0 unchanged, 1 removed.\n`);
    expect(sent().map(({ upserts, deletes }) => [upserts.map((one) => one.id), deletes])).toEqual([
      [['i0', 'i1'], []],
      [['i2', 'i3'], []],
      [['i4'], ['gone']],
    ]);
    const [push] = sent()[0]!.deliveryId.split(':');
    expect(sent().map(({ deliveryId }) => deliveryId)).toEqual([1, 2, 3].map((page) => `${push}:${page}`));
    expect(sent()[0]).not.toHaveProperty('snapshot');
  });

  test('sends a snapshot in pages, of which the last one completes it', async () => {
    file('all.jsonl', ...items(3));
    await cli.run(['push', 'push', 'all.jsonl', '--snapshot', '--batch', '2']);
    expect(sent().map(({ snapshot, completeSnapshot }) => [snapshot!.page, completeSnapshot])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(new Set(sent().map(({ snapshot }) => snapshot!.id)).size).toBe(1);
  });

  test('sends an empty file as an empty snapshot', async () => {
    file('all.jsonl');
    await cli.run(['push', 'push', 'all.jsonl', '--snapshot']);
    expect(sent()).toMatchObject([{ upserts: [], completeSnapshot: true }]);
  });

  test('says which lines failed and why, and fails', async () => {
    file('bad.jsonl', { id: 'a', text: 'a' }, 'not json', '[1]', { id: 'b' });
    cli.api.on(route, ({ body }) => {
      const upserts = [
        { id: 'a', status: 'created' as const, documentId: 'd', error: null },
        {
          id: 'b',
          status: 'failed' as const,
          documentId: null,
          error: 'exactly one of text, markdown, html must be given',
        },
      ];
      return answer(body as unknown as Sent, { upserts });
    });
    const { exitCode, stderr } = await cli.run(['push', 'push', 'bad.jsonl']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('line 2: it is not JSON\n');
    expect(stderr).toContain('line 3: it is no JSON object\n');
    expect(stderr).toContain('line 4: b: exactly one of text, markdown, html must be given\n');
    expect(stderr).toContain('3 lines could not be taken');
  });

  test('never completes a snapshot with a line that cannot be read', async () => {
    file('bad.jsonl', ...items(3), '{', ...items(3));
    const { exitCode, stderr } = await cli.run(['push', 'push', 'bad.jsonl', '--snapshot', '--batch', '1']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Line 4 cannot be read: it is not JSON.');
    expect(sent().some(({ completeSnapshot }) => completeSnapshot)).toBe(false);
  });

  test('waits for a daemon that is busy or restarts', async () => {
    file('all.jsonl', ...items(1));
    let refusals = 2;
    cli.api.on(route, ({ body }) =>
      refusals-- > 0 ? [503, { error: 'shutting down' }] : answer(body as unknown as Sent),
    );
    expect((await cli.run(['push', 'push', 'all.jsonl'])).exitCode).toBe(0);
    expect(new Set(sent().map(({ deliveryId }) => deliveryId)).size).toBe(1);
    refusals = 100;
    const { exitCode, stderr } = await cli.run(['push', 'push', 'all.jsonl']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/--resume [0-9a-f-]{36}/);
  });

  test('goes on with a snapshot where it stopped', async () => {
    file('all.jsonl', ...items(3));
    cli.api.on(`GET /v3/connections/${id}/push`, () => ({ snapshot: { id: 'before', state: 'open', nextPage: 3 } }));
    await cli.run(['push', 'push', 'all.jsonl', '--snapshot', '--batch', '1', '--resume', 'before']);
    expect(sent().flatMap(({ snapshot }) => (snapshot ? [snapshot] : []))).toEqual([{ id: 'before', page: 3 }]);
    const other = await cli.run(['push', 'push', 'all.jsonl', '--snapshot', '--resume', 'another']);
    expect(other).toMatchObject({ exitCode: 1 });
    expect(other.stderr).toContain('The snapshot another is not the last one that was begun.');
  });

  test('says when a removal is held back', async () => {
    file('all.jsonl', ...items(1));
    const snapshot = {
      id: 's',
      state: 'completed' as const,
      nextPage: 2,
      removed: 0,
      held: { count: 40, of: 50 },
      incomplete: null,
    };
    cli.api.on(route, ({ body }) => answer(body as unknown as Sent, { snapshot }));
    const { stderr, stdout } = await cli.run(['push', 'push', 'all.jsonl', '--snapshot', '--json']);
    expect(stderr).toContain('40 items of 50 would be removed, which is held back');
    expect(stderr).toContain(`memoryd sync ${id} --confirm-deletes`);
    expect(JSON.parse(stdout)).toMatchObject({ connectionId: id, snapshot, failures: [] });
  });

  test('is refused for a file that is not there, and what it does not know of --batch', async () => {
    expect(await cli.run(['push', 'push', 'nothing.jsonl'])).toMatchObject({ exitCode: 2 });
    file('all.jsonl', ...items(1));
    expect(await cli.run(['push', 'push', 'all.jsonl', '--batch', '0'])).toMatchObject({ exitCode: 2 });
    expect(await cli.run(['push', 'push', '.'])).toMatchObject({ exitCode: 2 });
  });
});
