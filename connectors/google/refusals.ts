import type { SourceAnswer, Verdict } from 'memoryd/connector';

/** https://developers.google.com/workspace/gmail/api/guides/handle-errors and the one of Drive. */
const paceReasons = new Set(['rateLimitExceeded', 'userRateLimitExceeded', 'sharingRateLimitExceeded']);
const dayReasons = new Set(['dailyLimitExceeded', 'quotaExceeded']);
const dayPauseMs = 60 * 60_000;

const remedies: Record<string, string> = {
  insufficientPermissions:
    'A scope was not granted. Connect again, and tick every box on Google’s page of consent (`memoryd connect PROVIDER --again ID`).',
  accessNotConfigured: 'Enable the API in the Google Cloud project of the OAuth client, then wait a few minutes.',
  domainPolicy: 'The administrators of the Google Workspace domain do not allow this app. Ask them to trust it.',
};

/** The reason of an error in the format of Google's APIs; undefined when it names none. */
export function reasonOf(answer: Pick<SourceAnswer, 'json'>): string | undefined {
  const error = answer.json()?.error;
  const reason: unknown = error?.errors?.[0]?.reason ?? error?.details?.[0]?.reason;
  if (typeof reason !== 'string') return undefined;
  return newerReasons[reason] ?? reason;
}

/** The same by the names of google.rpc.ErrorInfo. */
const newerReasons: Record<string, string> = {
  ACCESS_TOKEN_SCOPE_INSUFFICIENT: 'insufficientPermissions',
  SERVICE_DISABLED: 'accessNotConfigured',
  RATE_LIMIT_EXCEEDED: 'rateLimitExceeded',
};

/** Advice about a refusal; undefined when none is known. */
export function remedyOf(reason: string | undefined): { reason: string; text: string } | undefined {
  const text = reason === undefined ? undefined : remedies[reason];
  return reason === undefined || text === undefined ? undefined : { reason, text };
}

/** Judges a 403 of Google, which stands for limits as well as for rights. */
export function classifyGoogle(answer: SourceAnswer): Verdict | undefined {
  if (answer.status !== 403 && answer.status !== 429) return undefined;
  const reason = reasonOf(answer) ?? '';
  if (dayReasons.has(reason)) {
    const remedy =
      'The quota of the day is spent. It is asked for each hour; Google renews it at midnight, Pacific time.';
    return { kind: 'rate_limited', retryAfterMs: dayPauseMs, remedy };
  }
  if (paceReasons.has(reason)) return { kind: 'rate_limited' };
  const remedy = remedyOf(reason);
  return answer.status === 403 && remedy ? { kind: 'forbidden', remedy: remedy.text } : undefined;
}
