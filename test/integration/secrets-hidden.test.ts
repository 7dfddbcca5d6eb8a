import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConnectorError, defineConnector, transient, type Context } from '../../src/connector/contract.ts';
import { defaultRunSettings } from '../../src/sync/run.ts';
import { runSync } from '../../src/sync/runner.ts';
import { rawSql } from '../../src/store/sql.ts';
import { startTestApi, type TestApi } from '../support/api.ts';

const canaries = {
  key: 'canary-key/with+signs==',
  pin: 'canary-pin "quoted" \\ and\nbroken',
  token: 'canary-token-of-nobody',
};
/** Every form in which one of them could stand somewhere. */
const forms = Object.values(canaries).flatMap((canary) => [
  canary,
  encodeURIComponent(canary),
  JSON.stringify(canary).slice(1, -1),
  Buffer.from(canary).toString('base64').slice(0, 20),
]);

const tables = [
  'connections',
  'sync_runs',
  'sync_items',
  'partitions',
  'partition_records',
  'documents',
  'document_contents',
  'credentials',
  'settings',
];

/** A careless connector: tells its secrets wherever `place` says. */
function createBlabbing(place: () => string) {
  const said = async (ctx: Context<any>) =>
    `key ${await ctx.secret('key')} at https://a.example/?k=${encodeURIComponent(await ctx.secret('key'))} pin ${ctx.config.pin}`;
  const when = async (ctx: Context<any>, name: string, fail: (text: string) => unknown) => {
    if (place() === name) throw await fail(await said(ctx));
  };
  return defineConnector<any, any>({
    spec: {
      name: 'blabbing',
      version: '1.0.0',
      title: 'Blabbing',
      kind: 'other',
      description: 'Tells secrets.',
      config: { type: 'object', properties: { pin: { type: 'string', 'x-secret': true } } },
      auth: [
        {
          type: 'apiKey',
          fields: { type: 'object', required: ['key'], properties: { key: { type: 'string', 'x-secret': true } } },
        },
      ],
    },
    check: async () => [],
    async partitions(ctx) {
      await when(ctx, 'partitions', (text) => new Error(text, { cause: new Error(text) }));
      ctx.log.warn({ text: await said(ctx), nested: { list: [await said(ctx)] } }, await said(ctx));
      return [{ id: 'all' }];
    },
    async list(ctx) {
      await when(ctx, 'list', (text) => transient(text, new Error(text)));
      await when(ctx, 'config', (text) => new ConnectorError('bad_config', text, { remedy: text }));
      const text = await said(ctx);
      const refs = ['a', 'b'].map((id) => ({
        id,
        rev: '1',
        ...(place() === 'locator' ? { locator: { text } } : {}),
        ...(place() === 'metadata' ? { metadata: { text } } : {}),
      }));
      if (place() === 'record') return { refs, done: true, records: { [text.slice(0, 20)]: { text } } };
      return place() === 'cursor' ? { refs, next: { text } } : { refs, done: true };
    },
    async fetch(ctx, _, ref) {
      await when(ctx, 'fetch', (text) => (ref.id === 'a' ? transient(text) : new TypeError(text)));
      return { text: 'content' };
    },
  });
}

describe('secrets of a failing sync', () => {
  let place = 'nowhere';
  let test: TestApi;
  const connector = createBlabbing(() => place);
  beforeAll(async () => {
    test = await startTestApi({ connectors: { blabbing: connector } });
  });
  afterAll(() => test.close());
  beforeEach(() => test.clock.advance(1_000));

  const answers: string[] = [];
  async function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<any> {
    const answer = await test.call(method, path, body);
    answers.push(JSON.stringify([answer.body, answer.headers]));
    return answer.body;
  }

  it.each(['nowhere', 'partitions', 'list', 'config', 'fetch', 'cursor', 'record', 'locator', 'metadata'])(
    'are nowhere when they are told in: %s',
    async (name) => {
      place = name;
      answers.length = 0;
      const { id } = await ask('POST', '/v3/connections/blabbing', { containerTag: name, metadata: canaries });
      const { database, clock, log } = test;
      const { credentials } = test.authorizing;
      await runSync(
        {
          database,
          clock,
          log,
          credentials,
          settings: defaultRunSettings,
          connector: async () => connector,
          wake: async () => {},
        },
        id,
        new AbortController().signal,
      );
      const shown = await ask('GET', `/v3/connections/${id}`);
      const [run] = await ask('GET', `/v3/connections/${id}/sync-runs`);
      if (name === 'nowhere') expect(run).toMatchObject({ status: 'completed', itemsAdded: 2 });
      else expect(`${run.status} ${run.itemsFailed}`).toMatch(/^(failed \d|completed 2)$/);
      expect(shown.metadata).not.toHaveProperty('pin');
      for (const path of ['progress', `sync-runs/${run.id}`, 'items'])
        await ask('GET', `/v3/connections/${id}/${path}`);
      await ask('POST', `/v3/connections/${id}/check`);
      await ask('POST', '/v3/connections/list');
      await ask('POST', '/v3/documents/list', { containerTags: [name] });
      const rows = await Promise.all(
        tables.map(
          async (table) =>
            [table, await test.database.query(rawSql(`select to_jsonb(t)::text from ${table} t`))] as const,
        ),
      );
      expect(rows.flatMap(([, found]) => found).length).toBeGreaterThan(4);
      const written = [...answers, ...rows.map((each) => JSON.stringify(each)), test.logged()];
      for (const form of forms) {
        expect(
          written.filter((text) => text.includes(form)).map((text) => text.slice(0, 60)),
          form,
        ).toEqual([]);
      }
    },
  );

  it('are masked, so that one sees that something stood there', () => {
    expect(test.logged()).toContain('key ******** at https://a.example/?k=********');
  });
});
