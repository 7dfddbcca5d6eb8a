import { firstOf, needsWorld, worldWith, type Check } from '../check.ts';
import type { Harness } from '../harness.ts';

const usesOAuth = (harness: { connector: { spec: { auth: { type: string }[] } } }): string | undefined =>
  harness.connector.spec.auth.some(({ type }) => type === 'oauth2' || type === 'xoauth2')
    ? undefined
    : 'the connector does not authorize with OAuth';

/** Checks about authorization that ends: 13 and 14. */
export const authorizationChecks: readonly Check[] = [
  {
    number: 13,
    name: 'one-refresh',
    title: 'ten parallel fetches with an expired token lead to exactly one refresh',
    missing: (subject) => firstOf(usesOAuth(subject), needsWorld(subject.world, 'oauth')),
    async run(harness) {
      const { oauth } = worldWith(harness, 'oauth');
      await harness.syncWell();
      await harness.populate(12);
      const before = oauth.refreshes();
      let expired = false;
      harness.interfere({
        async before(call) {
          if (expired || (call.verb !== 'fetch' && call.verb !== 'fetchMany')) return;
          expired = true;
          harness.note('The access token ended before the first item was fetched.');
          await oauth.expireAccessTokens();
        },
      });
      await harness.syncAndCompare('After a sync in which the token ended');
      const refreshes = oauth.refreshes() - before;
      harness.expect(expired && refreshes === 1, `The token was refreshed ${refreshes} times.`);
    },
    settings: { claimSize: 12, fetchConcurrency: 10 },
  },
  {
    number: 13,
    name: 'crash',
    title: 'a process that dies while it refreshes does not lose the grant',
    missing: (subject) => firstOf(usesOAuth(subject), needsWorld(subject.world, 'oauth')),
    async run(harness) {
      const { oauth } = worldWith(harness, 'oauth');
      await harness.populateAndSync(4);
      const before = oauth.refreshes();
      await oauth.expireAccessTokens();
      await harness.edit('note-1');
      harness.interfere({
        request(request) {
          if (!oauth.isTokenRequest(request)) return;
          harness.note('The process was killed between the refresh and the storing of the new token.');
          harness.traffic.crash();
        },
      });
      await harness.sync();
      harness.interfere({});
      harness.expect(oauth.refreshes() > before, 'No refresh was asked for.');
      await harness.recover();
      await harness.expectMirror('After the syncs that followed');
      const { status } = await harness.connection();
      harness.expect(status === 'active', `The connection is ${status} although the grant is good.`);
    },
  },
  {
    number: 14,
    name: 'withdrawn',
    title: 'a withdrawn grant is reported once, and not requested again and again',
    missing: (subject) => firstOf(usesOAuth(subject), needsWorld(subject.world, 'oauth')),
    async run(harness) {
      const { oauth } = worldWith(harness, 'oauth');
      await harness.populateAndSync(4);
      await oauth.withdraw();
      await oauth.expireAccessTokens();
      const before = oauth.refreshes();
      await expectReauthorization(harness);
      const asked = oauth.refreshes() - before;
      harness.expect(asked <= 1, `The token endpoint was asked ${asked} times.`);
    },
  },
  {
    number: 14,
    name: 'refused',
    title: 'a credential that the source refuses is reported once, and not tried again and again',
    missing: ({ world }) => firstOf(needsWorld(world, 'credential'), needsWorld(world, 'traffic')),
    async run(harness) {
      await harness.populateAndSync(4);
      const { credential } = worldWith(harness, 'credential');
      await credential.break('refused');
      await expectReauthorization(harness);
      await credential.mend();
    },
  },
];

async function expectReauthorization(harness: Harness): Promise<void> {
  const before = (await harness.memory()).size;
  const { run } = await harness.sync();
  harness.expect(
    run?.errorCode === 'auth_expired',
    `The run ended with ${run?.errorCode ?? 'no error'} and must say auth_expired.`,
  );
  const { status } = await harness.connection();
  harness.expect(status === 'needs_reauth', `The connection is ${status} and must be needs_reauth.`);
  harness.forget();
  for (let round = 0; round < 3; round++) {
    harness.clock.advance(3_600_000);
    await harness.sync();
  }
  harness.expect(harness.requests() === 0, `${harness.requests()} more requests followed without a new authorization.`);
  harness.expect((await harness.memory()).size === before, 'Documents were deleted.');
}
