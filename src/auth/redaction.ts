import { present } from '../base/collections.ts';
import { MemorydError } from '../base/errors.ts';
import { ConnectorError, type Connector, type Page } from '../connector/contract.ts';

/** Knows the secrets of a connection while it is worked with, so that they are shown nowhere. */
export interface Redaction {
  add(secret: string): void;
  /** The text with `********` in place of secrets. */
  text(text: string): string;
  /** The same for every text in a JSON value. */
  value<Value>(value: Value): Value;
  /** Whether a JSON value holds a secret. */
  finds(value: unknown): boolean;
}

const mask = '********';
/** Shorter ones are words that stand everywhere. */
const shortestSecret = 8;
const longSecret = 40;

export function createRedaction(): Redaction {
  const secrets = new Set<string>();
  const text = (given: string) => [...secrets].reduce((shown, secret) => shown.replaceAll(secret, mask), given);
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given);
    if (given instanceof Error) return redactedError(given, text);
    if (Array.isArray(given)) return given.map(value);
    if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype) return given;
    return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, value(one)]));
  };
  return {
    add(secret) {
      if (secret.length < shortestSecret) return;
      // The forms in which a secret turns up in addresses, bodies and headers.
      for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) secrets.add(form);
      // The lines of a key file and of PEM text, which turn up alone.
      for (const line of secret.split(/\\n|\n/)) if (line.length >= longSecret && line !== secret) secrets.add(line);
    },
    text,
    value: (given) => (secrets.size === 0 ? given : (value(given) as typeof given)),
    finds(given) {
      if (secrets.size === 0 || given === undefined) return false;
      const written = JSON.stringify(given);
      return [...secrets].some((secret) => written.includes(secret));
    },
  };
}

/** Errors that show a secret are rewritten, because whoever gets one may show it. The others stay as they are. */
function redactedError(error: Error, text: (given: string) => string): Error {
  if (!showsSecret(error, text)) return error;
  const message = text(error.message);
  if (ConnectorError.is(error)) {
    const { kind, retryAt, skip, remedy } = error;
    const cause = error.cause instanceof Error ? redactedError(error.cause, text) : undefined;
    return new ConnectorError(kind, message, present({ retryAt, skip, remedy: remedy && text(remedy), cause }));
  }
  if (MemorydError.is(error)) return error;
  const copy = new Error(message, error.cause instanceof Error ? { cause: redactedError(error.cause, text) } : {});
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = text(error.stack);
  return copy;
}

function showsSecret(error: Error, text: (given: string) => string): boolean {
  const { remedy } = error as { remedy?: unknown };
  const texts = [error.message, error.stack, remedy].filter((one) => typeof one === 'string');
  return texts.some((one) => text(one) !== one) || (error.cause instanceof Error && showsSecret(error.cause, text));
}

type Verb = (...parameters: any[]) => unknown;

/**
 * The connector as the framework may use it: what its verbs throw shows no secret, and a page that
 * would store one (in its cursor, a record, a locator or metadata) is refused.
 */
export function guardConnector(connector: Connector<any, any>, redaction: Redaction): Connector<any, any> {
  const guarded: Record<string, unknown> = { ...connector };
  for (const [name, verb] of Object.entries(connector)) {
    if (typeof verb !== 'function' || name === 'fetchMany' || name === 'groups') continue;
    guarded[name] = async (...parameters: any[]) => {
      const answer = await withRedactedErrors(redaction, () => (verb as Verb).apply(connector, parameters));
      refuseSecrets(connector.spec.name, name, answer, redaction);
      return answer;
    };
  }
  for (const name of ['fetchMany', 'groups'] as const) {
    const verb = connector[name] as ((...parameters: any[]) => AsyncIterable<unknown>) | undefined;
    if (verb) guarded[name] = (...parameters: any[]) => guardIterable(verb.apply(connector, parameters), redaction);
  }
  return guarded as unknown as Connector<any, any>;
}

async function* guardIterable(answers: AsyncIterable<unknown>, redaction: Redaction): AsyncIterable<unknown> {
  try {
    yield* answers;
  } catch (error) {
    throw redaction.value(error);
  }
}

async function withRedactedErrors<Answer>(redaction: Redaction, call: () => Answer): Promise<Awaited<Answer>> {
  try {
    return await call();
  } catch (error) {
    throw redaction.value(error);
  }
}

function refuseSecrets(provider: string, verb: string, answer: unknown, redaction: Redaction): void {
  const stored = storedParts(verb, answer);
  if (!redaction.finds(stored)) return;
  throw new MemorydError(
    'connector_invalid',
    `The connector ${provider} put a secret of the connection into what \`${verb}\` answers. Nothing of that was stored.`,
  );
}

/** The parts of an answer that the framework stores beside its content. */
function storedParts(verb: string, answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return undefined;
  if (verb === 'head') return answer;
  if (verb === 'fetch') return (answer as { metadata?: unknown }).metadata;
  if (!['list', 'changes', 'lookup'].includes(verb)) return undefined;
  const { next, refs, records } = answer as Page;
  return [next, records, refs?.map(({ locator, metadata }) => [locator, metadata])];
}
