import { rawSql } from '../../store/sql.ts';
import type { Law } from '../law.ts';
import type { Trial } from '../trial.ts';

/** Law 20: what the connection is authorized with leaves neither the vault nor the requests. */
export const secrecyLaws: readonly Law[] = [
  {
    number: 20,
    name: 'canary',
    title: 'no secret appears in logs, cursors, errors, metadata or any other row',
    missing: ({ world }) =>
      world.credentials || world.oauth ? undefined : 'the world has neither `credentials` nor `oauth`',
    async run(trial) {
      const names = await trial.populate(6);
      await trial.syncWell();
      await expectSecret(trial, 'After a good sync');
      for (const way of ways(trial)) {
        await trial.world.edit(names[0]!, trial.text(names[0]!));
        await way.begin();
        await trial.sync({ mode: 'full' });
        await expectSecret(trial, `After ${way.title}`);
        await trial.restore();
        trial.clock.advance(7 * 3_600_000);
      }
      await trial.world.credential?.break('refused');
      const probes = await trial.withContext((context) => trial.connector.check(context));
      expectAbsent(trial, JSON.stringify(probes), 'The answer of `check` to a refused credential');
      await trial.sync();
      await expectSecret(trial, 'After a credential was refused');
    },
  },
];

/** Ways in which a sync fails, each of which writes other messages. */
function ways(trial: Trial): { title: string; begin(): unknown }[] {
  const failing = (status: number) => ({
    title: `answers with the status ${status} that quote the request`,
    begin: () =>
      trial.interfere({
        request: (request) => ({ status, json: { error: 'refused', request: request.headers, path: request.path } }),
      }),
  });
  return [
    {
      title: 'a bug in the connector whose message quotes a secret',
      begin: () =>
        trial.interfere({
          before(call) {
            if (call.verb === 'fetch' || call.verb === 'fetchMany') throw new Error(`cannot use ${trial.canary}`);
          },
        }),
    },
    ...(trial.world.traffic ? [failing(500), failing(400), failing(403)] : []),
  ];
}

async function expectSecret(trial: Trial, when: string): Promise<void> {
  expectAbsent(trial, trial.lines.join(''), `${when}, the log`);
  const tables = await trial.database.query<{ name: string }>(
    rawSql(`select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`),
  );
  for (const { name } of tables) {
    const rows = await trial.database.query<{ row: string }>(rawSql(`select t::text as row from "${name}" t`));
    expectAbsent(trial, rows.map(({ row }) => row).join('\n'), `${when}, the table ${name}`);
  }
}

/** Also encoded, as it may stand in a header or an address. */
function expectAbsent(trial: Trial, text: string, where: string): void {
  const { canary } = trial;
  const forms = [canary, Buffer.from(canary).toString('base64').replace(/=+$/, ''), encodeURIComponent(canary)];
  const found = forms.find((form) => text.includes(form));
  if (found === undefined) return;
  const at = text.indexOf(found);
  trial.expect(false, `${where} holds the secret: …${text.slice(Math.max(0, at - 80), at)}<secret>.`);
}
