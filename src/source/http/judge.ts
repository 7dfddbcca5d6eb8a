import {
  ConnectorError,
  forbidden,
  gone,
  transient,
  type ConnectorSpec,
  type SourceAnswer,
  type Verdict,
} from '../../connector/contract.ts';
import { fromSourceTime, readReset, readRetryAfter } from './retry-after.ts';
import type { Answer } from './transport.ts';

/** What an answer means for the request. */
export type Judgement =
  | { kind: 'ok' }
  /** The authorization was refused; another may be tried once. */
  | { kind: 'unauthorized' }
  /** Nothing before `until`; null when the source does not say. `slowDown`: it came too fast, not too often. */
  | { kind: 'limited'; until: number | null; slowDown: boolean; remedy?: string | undefined }
  | { kind: 'error'; error: ConnectorError; again: boolean };

export interface JudgeOptions {
  classify: ConnectorSpec['classify'];
  /** Statuses that are answers; null: 2xx and, for conditional requests, 304. */
  accept: readonly number[] | null;
  conditional: boolean;
  target: string;
  /** By this process's clock and by the source's, in milliseconds since 1970. */
  now: number;
  sourceNow: number;
}

/** Worth another attempt in a moment (RFC 9110 section 15.6, RFC 6585). */
const passing = new Set([408, 425, 500, 502, 503, 504]);

/** The connector's own verdict first, then the status. */
export function judge(answer: Answer, options: JudgeOptions): Judgement {
  const verdict = options.classify?.(sourceAnswer(answer));
  if (verdict) return judgeVerdict(verdict, answer, options);
  if (isAccepted(answer.status, options)) return { kind: 'ok' };
  const limit = limitOf(answer, options);
  if (limit) return limit;
  return judgeStatus(answer.status, options.target);
}

function isAccepted(status: number, { accept, conditional }: JudgeOptions): boolean {
  if (accept) return accept.includes(status);
  return (status >= 200 && status < 300) || (conditional && status === 304);
}

function limitOf({ status, headers }: Answer, { now, sourceNow }: JudgeOptions): Judgement | null {
  const heard = { headers, now, sourceNow };
  const until = readRetryAfter(heard);
  const spent = headers['x-ratelimit-remaining']?.trim() === '0';
  const reset = spent ? readReset(headers['x-ratelimit-reset'], 'either', heard) : null;
  const limited: Judgement = { kind: 'limited', until: until ?? reset, slowDown: !spent };
  if (status === 429 || status === 529) return limited;
  if (status === 503) return until === null ? null : limited;
  return status === 403 && (until !== null || spent) ? limited : null;
}

function judgeStatus(status: number, target: string): Judgement {
  const message = `${target} answered ${status}`;
  if (status === 401) return { kind: 'unauthorized' };
  if (status === 403) return { kind: 'error', error: forbidden(message), again: false };
  if (status === 404 || status === 410) return { kind: 'error', error: gone(message), again: false };
  return { kind: 'error', error: transient(message), again: passing.has(status) };
}

function judgeVerdict(verdict: Verdict, answer: Answer, options: JudgeOptions): Judgement {
  const { kind, remedy } = verdict;
  if (kind === 'auth_expired') return { kind: 'unauthorized' };
  if (kind === 'rate_limited')
    return { kind: 'limited', until: untilOf(verdict, answer, options), slowDown: true, remedy };
  const message = `${options.target} answered ${answer.status}`;
  const error = new ConnectorError(kind, message, remedy === undefined ? {} : { remedy });
  return { kind: 'error', error, again: kind === 'transient' };
}

function untilOf(verdict: Verdict, { headers }: Answer, { now, sourceNow }: JudgeOptions): number | null {
  const heard = { headers, now, sourceNow };
  if (verdict.retryAfterMs !== undefined) return now + Math.max(0, verdict.retryAfterMs);
  return verdict.retryAt ? fromSourceTime(verdict.retryAt.getTime(), heard) : readRetryAfter(heard);
}

function sourceAnswer(answer: Answer): SourceAnswer {
  const text = () => new TextDecoder().decode(answer.bytes);
  return { status: answer.status, headers: answer.headers, text, json: () => parseJson(text()) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The error for a request whose authorization is not accepted, or that went without one. */
export function unauthorizedError(
  { target, status, provider }: { target: string; status: number; provider: string },
  authorized: boolean,
): ConnectorError {
  const message = `${target} answered ${status}`;
  if (!authorized) return forbidden(`${message} to a request without authorization`);
  const remedy = `The credentials are wrong, have expired or were revoked. Make new ones at the source, and give them to \`memoryd connect ${provider}\`, with \`--again ID\` for a connection that is there already.`;
  return new ConnectorError('auth_expired', `${message}: it does not accept the credentials.`, { remedy });
}
