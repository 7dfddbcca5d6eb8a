import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { terms } from '../../src/engine/terms.ts';
import { addDocuments } from '../../src/engine/add-documents.ts';
import { removeDocuments } from '../../src/engine/remove.ts';
import { createMemories } from '../../src/memory/memories.ts';
import type { Candidate, Extractor } from '../../src/memory/extractor.ts';
import { createRemembering } from '../../src/memory/remember.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { moveContainer } from '../../src/store/container-merges.ts';
import { minedDocuments } from '../../src/store/dreaming.ts';
import { hideMemoriesOf, showMemoriesOf } from '../../src/store/memory-versions.ts';
import { rawSql, sql } from '../../src/store/sql.ts';
import { createTestClock } from '../support/clock.ts';
import { mainEngine, openTestDatabase, type TestDatabase } from '../support/databases.ts';

/** Reads lines such as `Mira home Porto`: what the versions of facts do is seen best without a language. */
const lines: Extractor = {
  id: 'lines',
  extract: async ({ turns }) =>
    turns.flatMap(({ text, speaker }) =>
      text.split('\n').flatMap((line): Candidate[] => {
        const [subject, slot, value] = line.split(' ');
        if (subject === undefined || slot === undefined || value === undefined) return [];
        return [
          {
            ...{ text: line, kind: 'fact', category: 'fact', author: speaker, subject, slot, value, ends: false },
            ...{ isStatic: true, isInference: false, eventDates: [], forgetAfter: null, span: null },
          },
        ];
      }),
    ),
};

const ranks = { read: 0, own: 1, told: 2 };
const names = ['a', 'b', 'c'];
const tags = ['left', 'left', 'left', 'right'];

const statement = fc
  .tuple(fc.constant('Mira'), fc.constantFrom('home', 'home', 'work'), fc.constantFrom('x', 'y', 'z'))
  .map((words) => words.join(' '));
const write = fc.record({
  kind: fc.constant('write' as const),
  tag: fc.constantFrom(...tags),
  name: fc.constantFrom(...names),
  text: fc.uniqueArray(statement, { minLength: 1, maxLength: 3 }).map((all) => all.join('\n')),
  trust: fc.constantFrom('told' as const, 'told' as const, 'own' as const, 'read' as const),
  author: fc.constantFrom('Mira', 'Mira', 'Bob', undefined),
  day: fc.integer({ min: 1, max: 9 }),
});
const named = <Kind extends string>(kind: Kind) =>
  fc.record({ kind: fc.constant(kind), tag: fc.constantFrom(...tags), name: fc.constantFrom(...names) });
const step = fc.oneof(
  { weight: 6, arbitrary: write },
  { weight: 2, arbitrary: named('remine') },
  { weight: 2, arbitrary: named('hide') },
  { weight: 2, arbitrary: named('show') },
  { weight: 2, arbitrary: named('delete') },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('forget' as const), tag: fc.constantFrom(...tags), statement }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('correct' as const), tag: fc.constantFrom(...tags), statement }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('merge' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** A document that comes back where another one has taken its name by now stays hidden. */
function unlessTaken(error: unknown): void {
  if ((error as { code?: string }).code !== '23505') throw error;
}

describe('versions of facts', () => {
  let opened: TestDatabase;
  beforeAll(async () => {
    opened = await openTestDatabase();
  });
  afterAll(() => opened.close());

  function world() {
    const { database } = opened;
    const clock = createTestClock();
    const embedder = createHashingEmbedder();
    const turnsOf = async (text: string) => [{ speaker: null, role: null, text, start: 0, date: null }];
    const remembering = createRemembering({ extractor: lines, turnsOf, embedder, index: terms, clock });
    const memories = createMemories({
      ...{ database, embedder, index: terms, clock },
      requireWritable: async () => {},
      search: async () => [],
    });
    /** Statements that were forgotten, by container, and not written by hand since. */
    const forgotten = new Set<string>();
    /** All that ever were. */
    const ever = new Set<string>();

    async function idOf({ tag, name }: { tag: string; name: string }): Promise<string | null> {
      const rows = await database.query<{ id: string }>(sql`
        select id from documents where container_tag = ${tag} and custom_id = ${name} order by deleted_at nulls first limit 1`);
      return rows[0]?.id ?? null;
    }

    async function mine(id: string): Promise<void> {
      const found = await remembering.find(await minedDocuments(database, [id]), new AbortController().signal);
      await database.transaction((tx) => remembering.store(tx, found));
    }

    async function put(one: Step & { kind: 'write' }): Promise<void> {
      const { tag, name, text, trust, author, day } = one;
      const now = clock.now();
      const id = await database.transaction(async (tx) => {
        const [result] = await addDocuments(
          tx,
          [
            {
              ...{ containerTag: tag, customId: name, trust, source: 'api', body: { kind: 'text', text } },
              documentDate: new Date(`2026-02-0${day}T00:00:00Z`),
              ...(author !== undefined && { author }),
            },
          ],
          clock,
        );
        await tx.execute(sql`
          update documents set status = 'done', updated_at = ${now}, author = ${author ?? null} where id = ${result!.id}`);
        return result!.id;
      });
      await mine(id);
    }

    async function setHidden(one: { tag: string; name: string }, hidden: boolean): Promise<void> {
      const id = await idOf(one);
      if (id === null) return;
      await database.transaction(async (tx) => {
        const at = hidden ? clock.now() : null;
        const changed = await tx.execute(sql`
          update documents set deleted_at = ${at}::timestamptz
          where id = ${id} and (deleted_at is null) = ${hidden} and (${hidden} or not exists (
            select 1 from documents o where o.container_tag = ${one.tag} and o.custom_id = ${one.name} and o.deleted_at is null))`);
        if (changed === 0) return;
        if (hidden) await hideMemoriesOf(tx, [id], clock.now());
        else await showMemoriesOf(tx, [id], clock.now());
      });
    }

    async function correct(tag: string, text: string): Promise<void> {
      const created = { isStatic: true, metadata: null, temporalContext: null, forgetAfter: null, forgetReason: null };
      await memories.create(tag, [{ content: text, ...created }]);
      forgotten.delete(`${tag} ${text}`);
    }

    async function forget(tag: string, text: string): Promise<void> {
      const id = await memories.forget({ containerTag: tag, content: text }, null).catch(() => null);
      if (id === null) return;
      const versions = await database.query<{ memory: string }>(sql`
        select v.memory from memories m join memories v on coalesce(v.root_memory_id, v.id) = coalesce(m.root_memory_id, m.id)
        where m.id = ${id}`);
      for (const { memory } of versions) {
        forgotten.add(`${tag} ${memory}`);
        ever.add(memory);
      }
    }

    async function merge(): Promise<void> {
      await database.transaction((tx) =>
        moveContainer(tx, { from: 'right', to: 'left', renamesIds: false }, clock.now()),
      );
      for (const one of [...forgotten]) if (one.startsWith('right ')) forgotten.add(one.replace('right', 'left'));
      for (const one of [...forgotten]) if (one.startsWith('right ')) forgotten.delete(one);
    }

    async function take(one: Step): Promise<void> {
      clock.advance(1_000);
      if (one.kind === 'write') return put(one);
      if (one.kind === 'merge') return merge();
      if (one.kind === 'forget') return forget(one.tag, one.statement);
      if (one.kind === 'correct') return correct(one.tag, one.statement);
      if (one.kind === 'hide' || one.kind === 'show') return setHidden(one, one.kind === 'hide');
      const id = await idOf(one);
      if (id === null) return;
      if (one.kind === 'remine') return mine(id);
      await database.transaction((tx) => removeDocuments(tx, [id], clock.now()));
    }

    return { take, forgotten, ever };
  }

  async function clear(): Promise<void> {
    for (const table of ['memories', 'documents', 'forgotten_statements', 'container_tags']) {
      await opened.database.execute(rawSql(`delete from ${table}`));
    }
  }

  interface Row {
    id: string;
    tag: string;
    chain: string;
    memory: string;
    trust: keyof typeof ranks;
    version: number;
    parent: string | null;
    latest: boolean;
    forgotten: boolean;
    by: string | null;
    replaced: boolean;
    updates: string[];
    visible: number;
    written: boolean;
  }

  const rows = () =>
    opened.database.query<Row>(sql`
      select m.id, m.container_tag as tag, coalesce(m.root_memory_id, m.id) as chain, m.memory, m.trust, m.version,
        m.parent_memory_id as parent, m.is_latest as latest, m.is_forgotten as forgotten, m.forgotten_by as by,
        m.superseded_at is not null as replaced, m.extractor is null as written,
        coalesce((select array_agg(r.to_id) from memory_relations r where r.from_id = m.id and r.relation = 'updates'), '{}') as updates,
        (select count(*) from memory_sources s join documents d on d.id = s.document_id
          where s.memory_id = m.id and d.deleted_at is null) as visible
      from memories m order by 2, 3, m.version`);

  /** Each fact has one latest version, and its versions follow each other. */
  async function checkChains(): Promise<Row[]> {
    const all = await rows();
    for (const versions of Map.groupBy(all, ({ tag, chain }) => `${tag} ${chain}`).values()) {
      expect(versions.filter(({ latest }) => latest)).toHaveLength(1);
      expect(versions.map(({ version }) => version)).toEqual(versions.map((_, index) => index + 1));
      expect(versions.map(({ parent }) => parent)).toEqual(versions.map((_, index) => versions[index - 1]?.id ?? null));
      expect(versions.map(({ updates }) => updates)).toEqual(
        versions.map((_, index) => (index === 0 ? [] : [versions[index - 1]!.id])),
      );
      const order = versions.map(({ trust }) => ranks[trust]);
      expect(order).toEqual(order.toSorted((left, right) => left - right));
      const latest = versions.find((one) => one.latest)!;
      const standing = versions.filter(({ by }) => by !== 'source');
      expect(latest.id).toBe((standing.at(-1) ?? versions.at(-1))!.id);
      for (const one of versions) expect(one.replaced).toBe(one.version < latest.version);
    }
    return all;
  }

  async function check(forgotten: ReadonlySet<string>, ever: ReadonlySet<string>): Promise<void> {
    const all = await checkChains();
    for (const { latest, forgotten: isForgotten, visible, written, tag, memory } of all) {
      if (!latest || isForgotten) continue;
      if (!written) expect(visible).toBeGreaterThan(0);
      if (!written) expect(forgotten).not.toContain(`${tag} ${memory}`);
    }
    expect(await lost(ever)).toEqual([]);
  }

  /** Statements of visible documents that no memory holds as they were told. */
  async function lost(ever: ReadonlySet<string>): Promise<string[]> {
    const said = await opened.database.query<{ id: string; trust: string; text: string }>(sql`
      select d.id, d.trust, c.raw as text from documents d join document_contents c on c.document_id = d.id
      where d.deleted_at is null and d.source = 'api' and (d.trust <> 'read')`);
    const held = await opened.database.query<{ id: string; memory: string; trust: string }>(sql`
      select s.document_id as id, m.memory, m.trust from memory_sources s join memories m on m.id = s.memory_id
      where m.forgotten_by is distinct from 'source'`);
    const found = new Set(held.map(({ id, memory, trust }) => `${id} ${trust} ${memory}`));
    return said.flatMap(({ id, trust, text }) =>
      text.split('\n').filter((line) => !ever.has(line) && !found.has(`${id} ${trust} ${line}`)),
    );
  }

  it('hold one latest version each, in order, whatever comes, goes, is forgotten and comes again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 30 }), async (steps) => {
        await clear();
        const { take, forgotten, ever } = world();
        for (const one of steps) {
          await take(one);
          await check(forgotten, ever);
        }
      }),
      { numRuns: 8 },
    );
  }, 120_000);

  // The embedded engine has one session: nothing of it happens at the same time.
  if (mainEngine === 'postgres')
    it('hold together when several processes add, forget, delete and merge at once', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(step, { minLength: 4, maxLength: 4 }), { minLength: 5, maxLength: 5 }),
          async (rounds) => {
            await clear();
            const { take } = world();
            for (const steps of rounds) {
              await Promise.all(steps.map((one) => take(one).catch(unlessTaken)));
              for (const { latest, forgotten, written, visible } of await checkChains()) {
                if (latest && !forgotten && !written) expect(visible).toBeGreaterThan(0);
              }
            }
          },
        ),
        { numRuns: 6 },
      );
    }, 120_000);
});
