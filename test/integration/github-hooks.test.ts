import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import type { WebhookDefinition } from '@octokit/webhooks-examples';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findConnection } from '../../src/store/connections.ts';
import { sql } from '../../src/store/sql.ts';
import { startGithubApi } from './github-api-fixture.ts';

const secret = 'the secret of the hook';
const recorded = createRequire(import.meta.url)('@octokit/webhooks-examples') as WebhookDefinition[];
const deliveries = recorded.flatMap(({ name, examples }) =>
  examples.map((payload, index) => ({ name, id: `${name}-${index}`, body: JSON.stringify(payload) })),
);

describe('deliveries of GitHub', () => {
  let test: Awaited<ReturnType<typeof startGithubApi>>;
  let id: string;
  beforeAll(async () => {
    test = await startGithubApi({ sharedSecrets: { github: secret } });
    id = (await test.create()).id;
    for (const partition of ['7:files', '7:issues', '7:releases', '8:files@dev']) {
      await test.database.execute(sql`
        insert into partitions (connection_id, id, state, created_at, updated_at)
        values (${id}, ${partition}, 'delta', ${test.clock.now()}, ${test.clock.now()})`);
    }
  });
  afterAll(() => test.close());

  function send(event: string, body: string, headers: Record<string, string> = {}, key = secret) {
    return test.api.inject({
      method: 'POST',
      url: '/v3/hooks/github',
      payload: body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': event,
        'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
        ...headers,
      },
    });
  }

  /** What was asked for since the last call. */
  async function asked() {
    const { requestedSync } = (await findConnection(test.database, id))!;
    await test.database.execute(sql`update connections set requested_sync = null where id = ${id}`);
    return requestedSync;
  }

  const push = (ref: string, repository: number) =>
    JSON.stringify({ ref, repository: { id: repository, default_branch: 'main' } });

  it('is taken, whichever of the 329 recorded payloads it is, and refused with a wrong signature', async () => {
    expect(deliveries).toHaveLength(329);
    for (const { name, id: delivery, body } of deliveries) {
      const headers = { 'x-github-delivery': delivery };
      expect([delivery, (await send(name, body, headers)).statusCode]).toEqual([delivery, 202]);
      expect([delivery, (await send(name, body, headers, 'another secret')).statusCode]).toEqual([delivery, 401]);
    }
    expect(test.logged()).not.toMatch(/"level":"?(error|warn|50|40)/);
  });

  it('leads to a sync, of just the issue where it names one, once for each delivery', async () => {
    await asked();
    const delivery = { 'x-github-delivery': 'first' };
    expect((await send('push', push('refs/heads/main', 7), delivery)).statusCode).toBe(202);
    expect(await asked()).toEqual({ mode: 'incremental', trigger: 'event' });
    expect((await send('push', push('refs/heads/main', 7), delivery)).statusCode).toBe(202);
    expect(await asked()).toBeNull();
    await send('push', push('refs/heads/dev', 8), { 'x-github-delivery': 'second' });
    expect(await asked()).toEqual({ mode: 'incremental', trigger: 'event' });
    const comment = JSON.stringify({ issue: { number: 3 }, repository: { id: 7 } });
    await send('issue_comment', comment, { 'x-github-delivery': 'third' });
    expect(await asked()).toMatchObject({ hints: { '7:issues': ['7:issue:3'] } });
  });

  it('asks nobody for a sync who does not mirror the repository', async () => {
    await asked();
    await send('push', push('refs/heads/main', 9), { 'x-github-delivery': 'elsewhere' });
    await send('push', push('refs/heads/other', 7), { 'x-github-delivery': 'other branch' });
    expect(await asked()).toBeNull();
  });
});
