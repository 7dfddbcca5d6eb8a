import { rawSql } from '../../store/sql.ts';
import type { Check } from '../check.ts';
import type { Harness } from '../harness.ts';

/** Check 20: what the connection is authorized with leaves neither the vault nor the requests. */
export const secrecyChecks: readonly Check[] = [
  {
    number: 20,
    name: 'canary',
    title: 'no secret appears in logs, cursors, errors, metadata or any other row',
    missing: ({ world }) =>
      world.credentials || world.oauth ? undefined : 'the world has neither `credentials` nor `oauth`',
    async run(harness) {
      await harness.populateAndSync(6);
      await expectSecret(harness, 'After a good sync');
      for (const way of ways(harness)) {
        await harness.edit('note-1');
        await way.begin();
        await harness.sync({ mode: 'full' });
        await expectSecret(harness, `After ${way.title}`);
        await harness.restore();
        harness.clock.advance(7 * 3_600_000);
      }
      await harness.world.credential?.break('refused');
      const probes = await harness.withContext((context) => harness.connector.check(context));
      expectAbsent(harness, JSON.stringify(probes), 'The answer of `check` to a refused credential');
      await harness.sync();
      await expectSecret(harness, 'After a credential was refused');
    },
  },
];

/** Ways in which a sync fails, each of which writes other messages. */
function ways(harness: Harness): { title: string; begin(): unknown }[] {
  const failing = (status: number) => ({
    title: `answers with the status ${status} that quote the request`,
    begin: () =>
      harness.interfere({
        request: (request) => ({ status, json: { error: 'refused', request: request.headers, path: request.path } }),
      }),
  });
  return [
    {
      title: 'a bug in the connector whose message quotes a secret',
      begin: () =>
        harness.interfere({
          before(call) {
            if (call.verb === 'fetch' || call.verb === 'fetchMany') throw new Error(`cannot use ${harness.canary}`);
          },
        }),
    },
    ...(harness.world.traffic ? [failing(500), failing(400), failing(403)] : []),
  ];
}

async function expectSecret(harness: Harness, when: string): Promise<void> {
  expectAbsent(harness, harness.lines.join(''), `${when}, the log`);
  const tables = await harness.database.query<{ name: string }>(
    rawSql(`select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`),
  );
  for (const { name } of tables) {
    const rows = await harness.database.query<{ row: string }>(rawSql(`select t::text as row from "${name}" t`));
    expectAbsent(harness, rows.map(({ row }) => row).join('\n'), `${when}, the table ${name}`);
  }
}

/** Also encoded, as it may stand in a header or an address. */
function expectAbsent(harness: Harness, text: string, where: string): void {
  const { canary } = harness;
  const forms = [canary, Buffer.from(canary).toString('base64').replace(/=+$/, ''), encodeURIComponent(canary)];
  const found = forms.find((form) => text.includes(form));
  if (found === undefined) return;
  const at = text.indexOf(found);
  harness.expect(false, `${where} holds the secret: …${text.slice(Math.max(0, at - 80), at)}<secret>.`);
}
