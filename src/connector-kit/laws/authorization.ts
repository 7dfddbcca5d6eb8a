import { firstOf, needsWorld, type Law } from '../law.ts';
import type { Trial } from '../trial.ts';

const usesOAuth = (trial: { connector: { spec: { auth: { type: string }[] } } }): string | undefined =>
  trial.connector.spec.auth.some(({ type }) => type === 'oauth2' || type === 'xoauth2')
    ? undefined
    : 'the connector does not authorize with OAuth';

/** Laws about authorization that ends: 13 and 14. */
export const authorizationLaws: readonly Law[] = [
  {
    number: 13,
    name: 'one-refresh',
    title: 'ten parallel fetches with an expired token lead to exactly one refresh',
    missing: (subject) => firstOf(usesOAuth(subject), needsWorld(subject.world, 'oauth')),
    async run(trial) {
      const oauth = trial.world.oauth!;
      await trial.syncWell();
      await trial.populate(12);
      const before = oauth.refreshes();
      let expired = false;
      trial.interfere({
        async before(call) {
          if (expired || (call.verb !== 'fetch' && call.verb !== 'fetchMany')) return;
          expired = true;
          trial.note('The access token ended before the first item was fetched.');
          await oauth.expireAccessTokens();
        },
      });
      await trial.syncWell();
      await trial.expectMirror('After a sync in which the token ended');
      const refreshes = oauth.refreshes() - before;
      trial.expect(expired && refreshes === 1, `The token was refreshed ${refreshes} times.`);
    },
    settings: { claimSize: 12, fetchConcurrency: 10 },
  },
  {
    number: 13,
    name: 'crash',
    title: 'a process that dies while it refreshes does not lose the grant',
    missing: (subject) => firstOf(usesOAuth(subject), needsWorld(subject.world, 'oauth')),
    async run(trial) {
      const oauth = trial.world.oauth!;
      await trial.populate(4);
      await trial.syncWell();
      const before = oauth.refreshes();
      await oauth.expireAccessTokens();
      await trial.world.edit('note-1', trial.text('note-1'));
      trial.interfere({
        request(request) {
          if (!oauth.isTokenRequest(request)) return;
          trial.note('The process was killed between the refresh and the storing of the new token.');
          trial.traffic.crash();
        },
      });
      await trial.sync();
      trial.interfere({});
      trial.expect(oauth.refreshes() > before, 'No refresh was asked for.');
      await trial.recover();
      await trial.expectMirror('After the syncs that followed');
      const { status } = await trial.connection();
      trial.expect(status === 'active', `The connection is ${status} although the grant is good.`);
    },
  },
  {
    number: 14,
    name: 'withdrawn',
    title: 'a grant that was withdrawn is told once, and not asked for again and again',
    missing: (subject) => firstOf(usesOAuth(subject), needsWorld(subject.world, 'oauth')),
    async run(trial) {
      const oauth = trial.world.oauth!;
      await trial.populate(4);
      await trial.syncWell();
      await oauth.withdraw();
      await oauth.expireAccessTokens();
      const before = oauth.refreshes();
      await expectReauthorization(trial);
      const asked = oauth.refreshes() - before;
      trial.expect(asked <= 1, `The token endpoint was asked ${asked} times.`);
    },
  },
  {
    number: 14,
    name: 'refused',
    title: 'a credential that the source refuses is told once, and not tried again and again',
    missing: ({ world }) => firstOf(needsWorld(world, 'credential'), needsWorld(world, 'traffic')),
    async run(trial) {
      await trial.populate(4);
      await trial.syncWell();
      await trial.world.credential!.break('refused');
      await expectReauthorization(trial);
      await trial.world.credential!.mend();
    },
  },
];

async function expectReauthorization(trial: Trial): Promise<void> {
  const before = (await trial.memory()).size;
  const { run } = await trial.sync();
  trial.expect(
    run?.errorCode === 'auth_expired',
    `The run ended with ${run?.errorCode ?? 'no error'} and must say auth_expired.`,
  );
  const { status } = await trial.connection();
  trial.expect(status === 'needs_reauth', `The connection is ${status} and must be needs_reauth.`);
  trial.forget();
  for (let round = 0; round < 3; round++) {
    trial.clock.advance(3_600_000);
    await trial.sync();
  }
  trial.expect(trial.requests() === 0, `${trial.requests()} more requests followed without a new authorization.`);
  trial.expect((await trial.memory()).size === before, 'Documents were deleted.');
}
