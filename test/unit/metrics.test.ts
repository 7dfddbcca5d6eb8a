import { expect, it } from 'vitest';
import { createMetrics } from '../../src/base/metrics.ts';

it('counts by name and labels', () => {
  const metrics = createMetrics();
  metrics.count('requests_total', { provider: 'a', status: '200' });
  metrics.count('requests_total', { provider: 'a', status: '200' }, 2);
  metrics.count('requests_total', { provider: 'b', status: '200' });
  expect(metrics.read('requests_total', { provider: 'a', status: '200' })).toBe(3);
  expect(metrics.read('requests_total', { provider: 'c', status: '200' })).toBe(0);
  expect(metrics.read('other_total', {})).toBe(0);
});

it('renders what Prometheus reads', () => {
  const metrics = createMetrics();
  metrics.count('requests_total', { match: 'a "quoted" \\ \n line' });
  metrics.count('starts_total', {});
  for (const ms of [4, 5, 6, 1_000, 99_000]) metrics.observe('request_seconds', { provider: 'a' }, ms);
  expect(metrics.render()).toBe(
    [
      '# TYPE requests_total counter',
      'requests_total{match="a \\"quoted\\" \\\\ \\n line"} 1',
      '# TYPE starts_total counter',
      'starts_total 1',
      '# TYPE request_seconds histogram',
      'request_seconds_bucket{provider="a",le="0.005"} 2',
      ...['0.01', '0.025', '0.05', '0.1', '0.25', '0.5'].map(
        (bound) => `request_seconds_bucket{provider="a",le="${bound}"} 3`,
      ),
      ...['1', '2.5', '5', '10', '30'].map((bound) => `request_seconds_bucket{provider="a",le="${bound}"} 4`),
      'request_seconds_bucket{provider="a",le="+Inf"} 5',
      'request_seconds_sum{provider="a"} 100.015',
      'request_seconds_count{provider="a"} 5',
      '',
    ].join('\n'),
  );
});

it('does not grow without end with labels from outside', () => {
  const metrics = createMetrics();
  for (let index = 0; index < 5_000; index++) metrics.count('requests_total', { path: String(index) });
  expect(metrics.render().split('\n')).toHaveLength(1_002);
});
