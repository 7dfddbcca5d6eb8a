import { afterAll, describe, expect, test } from 'vitest';
import { countListed } from '../../src/store/partitions.ts';
import { rawSql, type Sql } from '../../src/store/sql.ts';
import { engines, openTestDatabase } from '../support/databases.ts';

describe.each(engines)('items that a listing has shown, on %s', async (engine) => {
  const { database, close } = await openTestDatabase(engine);
  afterAll(close);

  test('are prepared once for all rows, also in a plan that is made once for all listings', async () => {
    const statements: Sql[] = [];
    const watched: Pick<typeof database, 'query'> = {
      query: (statement) => {
        statements.push(statement);
        return database.query(statement);
      },
    };
    const key = { connectionId: 'connection', partitionId: 'partition' };
    await countListed(watched, key, { epoch: 1, runId: 'run', shown: ['a', 'b'] });
    const [statement] = statements;
    const plan = await database.query<{ 'QUERY PLAN': string }>(rawSql(`explain (generic_plan) ${statement!.text}`));
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(lines).toContain('InitPlan');
    expect(lines).not.toMatch(/SubPlan|ANY \(/);
  });
});
