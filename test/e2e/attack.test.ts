import { expect, it } from 'vitest';
import { runAttack } from '../../scripts/attack/run.ts';

it('a daemon with its default settings answers an attack as it should', { timeout: 300_000 }, async () => {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const result = await runAttack({ requests: 1_000, bombSize: 100_000, slowClients: 5, seed: 20_261_122, say });
  expect(result.faults, said.join('\n')).toEqual([]);
  expect(result.requests).toBeGreaterThan(1_000);
  // Null where the system does not tell.
  expect(result.peakMb ?? 0).toBeLessThan(1024);
});
