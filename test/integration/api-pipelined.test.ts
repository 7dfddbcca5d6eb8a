import { expect, it } from 'vitest';
import { startTestApi } from '../support/api.ts';

it('public answers share their bytes, so that a client that does not read them holds no memory', async () => {
  const sent: unknown[] = [];
  const test = await startTestApi({ onAnswer: (payload) => void sent.push(payload) });
  try {
    for (const url of ['/openapi.json', '/docs/', '/docs/js/scalar.js']) {
      for (let times = 0; times < 2; times++) await test.api.inject({ url });
      const [first, second] = sent.splice(0);
      expect([url, Buffer.isBuffer(first), first === second]).toEqual([url, true, true]);
    }
  } finally {
    await test.close();
  }
});
