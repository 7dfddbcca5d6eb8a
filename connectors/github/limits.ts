import type { BudgetSpec, SourceAnswer, Verdict } from 'memoryd/connector';

const headers = { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset', resetUnit: 'unix-seconds' } as const;
const hour = { rate: 5_000, perMs: 3_600_000, headers, reserve: 0.2 };

/** Both APIs have a quota of their own, and GitHub watches the pace of all requests together. */
export const budgets: BudgetSpec[] = [
  { match: 'GET */**', ...hour },
  { match: 'POST */**', ...hour },
  { match: '*', rate: 900, perMs: 60_000 },
];

/** Judges answers of GitHub whose status does not tell. Limits with `retry-after` or a spent quota are told by their headers. */
export function classify(answer: SourceAnswer): Verdict | undefined {
  if (answer.status === 403 || answer.status === 429) return refusal(answer);
  if (answer.status === 451)
    return { kind: 'forbidden', remedy: 'GitHub has closed this repository for legal reasons.' };
  if (answer.status === 200 && answer.headers['x-ratelimit-resource'] === 'graphql') return spentPoints(answer);
  return undefined;
}

function refusal(answer: SourceAnswer): Verdict | undefined {
  if (answer.headers['retry-after'] !== undefined || answer.headers['x-ratelimit-remaining'] === '0') return undefined;
  // Without a time the framework waits a minute and then twice as long each time, which is what GitHub asks for.
  if (/secondary rate|abuse detection/i.test(answer.text())) return { kind: 'rate_limited' };
  if (answer.status !== 403) return undefined;
  const remedy = remedyOf(answer);
  return remedy === undefined ? undefined : { kind: 'forbidden', remedy };
}

/** GitHub names the rights that a request needs: https://docs.github.com/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens */
function remedyOf({ headers }: SourceAnswer): string | undefined {
  if (headers['x-github-sso'] !== undefined) return 'Authorize the token for the organization’s single sign-on.';
  const needed = headers['x-accepted-github-permissions'] ?? headers['x-accepted-oauth-scopes'] ?? '';
  if (!/^[\w=,;: -]{1,200}$/.test(needed)) return undefined;
  return `The token lacks a right. GitHub asks for: ${needed}.`;
}

function spentPoints(answer: SourceAnswer): Verdict | undefined {
  const errors: { type?: string }[] = answer.json()?.errors ?? [];
  if (!errors.some(({ type }) => type === 'RATE_LIMITED')) return undefined;
  const reset = Number(answer.headers['x-ratelimit-reset']);
  return reset > 0 ? { kind: 'rate_limited', retryAt: new Date(reset * 1_000) } : { kind: 'rate_limited' };
}
