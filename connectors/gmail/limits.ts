import type { BudgetSpec } from 'memoryd/connector';
import { defaultUnits, type GmailConfig } from './config.ts';

export const apiHost = 'gmail.googleapis.com';

/** All requests of a user spend one quota: https://developers.google.com/workspace/gmail/api/reference/quota */
export function budgetsOf(config: GmailConfig): BudgetSpec[] {
  const { unitsPerMinute, threadUnits, messageUnits } = { ...defaultUnits, ...config };
  const costs: [path: string, weight: number][] = [
    ['threads/*', threadUnits],
    ['messages/*', messageUnits],
    ['messages/*/attachments/*', messageUnits],
    ['messages', 5],
    ['history', 2],
    ['labels', 1],
    ['profile', 1],
  ];
  return costs.map(([path, weight]) => ({
    match: `GET ${apiHost}/gmail/v1/users/me/${path}`,
    weight,
    rate: unitsPerMinute,
    perMs: 60_000,
    quota: 'units',
  }));
}
