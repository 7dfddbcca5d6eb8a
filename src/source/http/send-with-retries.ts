import type { Logger } from '../../base/log.ts';
import type { Authorization } from '../../auth/authorization.ts';
import {
  ConnectorError,
  type ConnectorSpec,
  forbidden,
  gone,
  transient,
  type SourceAnswer,
  type Verdict,
} from '../../connector/contract.ts';
import { longestWaitMs } from '../rate-limit/admission.ts';
import { exchange, type Exchanged, type ConnectionHttp } from './exchange.ts';
import type { Again, HttpAnswer } from './transport.ts';
import { limitOf, limitOfVerdict, pauseBudgets, type Heard, type Limit } from '../rate-limit/limited-answers.ts';

/** One call of a connector or of a vendor's SDK. */
export interface HttpCall {
  method: string;
  url: URL;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  maxBytes: number;
  timeoutMs: number;
  idleTimeoutMs: number;
  /** Null: by the method. */
  idempotent: boolean | null;
  anonymous: boolean;
  conditional: boolean;
  accept: readonly number[] | null;
  followRedirects: boolean;
  signal: AbortSignal;
}

/** An answer, and the error that it stands for. */
export interface Performed {
  answer: HttpAnswer;
  target: string;
  error: ConnectorError | null;
}

export interface PerformOptions {
  connection: ConnectionHttp;
  authorization: Authorization | null;
  classify: ConnectorSpec['classify'];
  random: () => number;
  log: Logger;
}

const maxRepeats = 3;

/** No further attempt after this time, however short the pauses were. */
const longestCallMs = 120_000;
const firstPauseMs = 500;

/** RFC 9110 section 9.2.2. */
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/**
 * Sends one call until it has an answer: waits for its budgets, renews the authorization once, and repeats what may be
 * repeated, at most three times and for at most two minutes. Throws the error of the last attempt when no answer came;
 * when the source refuses the authorization, `auth_expired`, or `forbidden` for a call without one; and `rate_limited`
 * when the source asks for a wait of more than 5 seconds, or limits a call that may not be repeated any more.
 */
export function createRetryingSender(options: PerformOptions): (call: HttpCall) => Promise<Performed> {
  const { connection } = options;
  const { clock, provider } = connection;

  return async (call) => {
    const repeats = createRepeats(options, call);
    const used = authorizationFor(options, call);
    let headers = await used?.headers();
    let renewed = false;
    for (;;) {
      const exchanged = await exchange(connection, { ...call, authorization: headers ?? null });
      if ('error' in exchanged) {
        if (!repeats.may(exchanged.again)) throw exchanged.error;
        await repeats.pause('no answer');
        continue;
      }
      const { answer, target, authorized } = exchanged;
      const judgement = judgeAnswer(options, call, exchanged);
      if (judgement.kind === 'ok') return { answer, target, error: null };
      if (judgement.kind === 'unauthorized') {
        const refused = authorized && used && headers && Object.keys(headers).length > 0 ? headers : null;
        if (renewed || !refused || !(await used!.renew(refused))) {
          throw unauthorizedError({ target, status: answer.status, provider }, authorized);
        }
        renewed = true;
        headers = await used!.headers();
      } else if (judgement.kind === 'limited') {
        connection.metrics.count('memoryd_source_limited_total', { provider, class: exchanged.budgets.label });
        const until = await pauseBudgets(exchanged.budgets, judgement);
        const isSoon = until - clock.now().getTime() <= longestWaitMs;
        // 503 alone does not say that nothing was done.
        if (!isSoon || !repeats.may(answer.status === 503 ? 'idempotent' : 'always')) {
          throw limitedError(exchanged, judgement, until);
        }
        repeats.count('limited');
      } else {
        if (!judgement.again || !repeats.may('idempotent')) return { answer, target, error: judgement.error };
        await repeats.pause('status');
      }
    }
  };
}

/** Counts the repetitions of one call. */
function createRepeats({ connection, random }: PerformOptions, call: HttpCall) {
  const { clock, metrics, provider } = connection;
  const startedAt = clock.now().getTime();
  let repeats = 0;

  function count(reason: string): void {
    metrics.count('memoryd_source_repeats_total', { provider, reason });
    repeats += 1;
  }

  return {
    may: (again: Again) =>
      (again === 'always' || (again === 'idempotent' && (call.idempotent ?? idempotentMethods.has(call.method)))) &&
      repeats < maxRepeats &&
      clock.now().getTime() - startedAt < longestCallMs,
    /** Before a repetition that waits for its budgets anyway. */
    count,
    async pause(reason: string): Promise<void> {
      const pauseMs = firstPauseMs * 2 ** repeats * (0.5 + random() / 2);
      count(reason);
      await clock.sleep(pauseMs, call.signal);
      call.signal.throwIfAborted();
    },
  };
}

function limitedError(
  { answer, target }: Extract<Exchanged, { answer: HttpAnswer }>,
  { advice }: Extract<Judgement, { kind: 'limited' }>,
  until: number,
): ConnectorError {
  return new ConnectorError('rate_limited', `${target} answered ${answer.status}`, {
    ...advice,
    retryAt: new Date(until),
  });
}

function authorizationFor({ connection, authorization }: PerformOptions, call: HttpCall): Authorization | null {
  return authorization && !call.anonymous && connection.origins.mayAuthorize(call.url) ? authorization : null;
}

function judgeAnswer(
  { connection, classify, log }: PerformOptions,
  { accept, conditional }: HttpCall,
  { answer, target }: Extract<Exchanged, { answer: HttpAnswer }>,
): Judgement {
  const now = connection.clock.now().getTime();
  const sourceNow = connection.sourceClock.now().getTime();
  const options = { accept, conditional, target, now, sourceNow };
  try {
    return judge(answer, { ...options, classify });
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    log.warn(
      { provider: connection.provider, status: answer.status, error: name },
      'a connector failed to judge an answer',
    );
    return judge(answer, { ...options, classify: undefined });
  }
}

/** The consequence of an answer for its request. */
type Judgement =
  | { kind: 'ok' }
  /** The authorization was refused; another may be tried once. */
  | { kind: 'unauthorized' }
  | ({ kind: 'limited'; advice?: { remedy?: string } } & Limit)
  | { kind: 'error'; error: ConnectorError; again: boolean };

interface JudgeOptions {
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
function judge(answer: HttpAnswer, options: JudgeOptions): Judgement {
  const verdict = options.classify?.(sourceAnswer(answer));
  if (verdict) return judgeVerdict(verdict, answer, options);
  if (isAccepted(answer.status, options)) return { kind: 'ok' };
  const limit = limitOf(answer.status, heardIn(answer, options));
  if (limit) return { kind: 'limited', ...limit };
  return judgeStatus(answer.status, options.target);
}

function isAccepted(status: number, { accept, conditional }: JudgeOptions): boolean {
  if (accept) return accept.includes(status);
  return (status >= 200 && status < 300) || (conditional && status === 304);
}

function judgeStatus(status: number, target: string): Judgement {
  const message = `${target} answered ${status}`;
  if (status === 401) return { kind: 'unauthorized' };
  if (status === 403) return { kind: 'error', error: forbidden(message), again: false };
  if (status === 404 || status === 410) return { kind: 'error', error: gone(message), again: false };
  return { kind: 'error', error: transient(message), again: passing.has(status) };
}

function judgeVerdict(verdict: Verdict, answer: HttpAnswer, options: JudgeOptions): Judgement {
  const { kind, remedy } = verdict;
  if (kind === 'auth_expired') return { kind: 'unauthorized' };
  const advice = remedy === undefined ? {} : { remedy };
  if (kind === 'rate_limited') return { kind: 'limited', advice, ...limitOfVerdict(verdict, heardIn(answer, options)) };
  const error = new ConnectorError(kind, `${options.target} answered ${answer.status}`, advice);
  return { kind: 'error', error, again: kind === 'transient' };
}

function heardIn({ headers }: HttpAnswer, { now, sourceNow }: JudgeOptions): Heard {
  return { headers, now, sourceNow };
}

function sourceAnswer(answer: HttpAnswer): SourceAnswer {
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
function unauthorizedError(
  { target, status, provider }: { target: string; status: number; provider: string },
  authorized: boolean,
): ConnectorError {
  const message = `${target} answered ${status}`;
  if (!authorized) return forbidden(`${message} to a request without authorization`);
  const remedy = `The credentials are wrong, have expired or were revoked. Make new ones at the source, and give them to \`memoryd connect ${provider}\`, with \`--again ID\` for a connection that is there already.`;
  return new ConnectorError('auth_expired', `${message}: it does not accept the credentials.`, { remedy });
}
