import { expect, it } from 'vitest';
import { createVitest } from 'vitest/node';

/** What tests of each room are told about how much to do. */
async function lengths(mode: string): Promise<Record<string, unknown>> {
  const vitest = await createVitest('test', { mode, watch: false });
  try {
    return Object.fromEntries(vitest.projects.map(({ name, config }) => [name, config.env['TEST_LENGTH']]));
  } finally {
    await vitest.close();
  }
}

it('`npm run test:long` is longer than `npm test` in every room', async () => {
  const rooms = ['meta', 'unit', 'contract', 'integration', 'e2e'];
  const all = (length: string) => Object.fromEntries(rooms.map((room) => [room, length]));
  expect(await lengths('test')).toEqual(all('short'));
  expect(await lengths('long')).toEqual(all('long'));
});
