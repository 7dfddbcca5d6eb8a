import { afterEach, describe, expect, it } from 'vitest';
import { sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createScopedSource } from '../support/scoped-source.ts';

describe('a mirror in a container with a quota', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  it('holds what is too much, says so, removes what goes, and goes on when there is room', async () => {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    const source = createScopedSource();
    const mirror = await createMirror({ database, clock, connector: source.connector({}) });
    const quota = (documents: number | null, bytes: number | null = null) =>
      database.execute(sql`
        insert into container_tags (tag, id, created_at, updated_at, quota_documents, quota_bytes)
        values ('mirror', 'mirror', ${clock.now()}, ${clock.now()}, ${documents}, ${bytes})
        on conflict (tag) do update set quota_documents = excluded.quota_documents, quota_bytes = excluded.quota_bytes`);
    const status = async () => {
      const [row] = await database.query<{ status: string; reason: string | null }>(sql`
        select status, status_reason as reason from connections where id = ${mirror.id}`);
      return row!;
    };
    const waiting = async () => (await mirror.items()).filter((item) => item.document_id === null);

    await quota(3);
    for (const id of ['a', 'b', 'c', 'd', 'e']) source.put('s', id, { text: `text ${id}` });
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(3);
    expect(await status()).toEqual({
      status: 'active',
      reason: expect.stringContaining('The quota of container mirror is used up; items wait until there is room.'),
    });
    const held = await waiting();
    expect(held.map(({ state, attempts, error }) => [state, attempts, error])).toEqual([
      ['pending', 0, null],
      ['pending', 0, null],
    ]);

    const [gone] = [...(await mirror.texts()).keys()];
    source.remove('s', gone!);
    clock.advance(10 * 60_000);
    await mirror.sync();
    expect([...(await mirror.texts()).keys()]).not.toContain(gone);
    clock.advance(10 * 60_000);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(3);

    await quota(null, 1);
    clock.advance(10 * 60_000);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(3);
    await quota(null);
    clock.advance(10 * 60_000);
    await mirror.sync();
    expect((await mirror.texts()).size).toBe(4);
    expect(await status()).toEqual({ status: 'active', reason: null });
  });
});
