import type { BudgetSpec } from 'memoryd/connector';

/**
 * Google counts units: 325,000 a minute for each user, of which a listing costs 100 and a file 5 or a little more:
 * https://developers.google.com/workspace/drive/api/guides/limits
 */
export const budgets: BudgetSpec[] = [
  { match: 'GET www.googleapis.com/drive/v3/files', rate: 1_000, perMs: 60_000 },
  { match: 'GET www.googleapis.com/**', rate: 12_000, perMs: 60_000, reserve: 0.2 },
];
