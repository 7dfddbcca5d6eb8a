import { addressOf, generated, type Operation } from '../../test/support/generated-requests.ts';
import { asForm } from './forms.ts';
import { inParallel, type Sent } from './sender.ts';
import { canary, type KeyKind, type Target } from './target.ts';

/** Operations that only read, although they are not asked for with GET. */
const reading =
  /(?:search|list|profile|processing|graph|viewport|bounds|stats|dry-run|documents|by-ids|connection)(?:\/|$)/;
/** Each of their entries has an answer of its own. */
const ownAnswers = /\/batch$|\/mcp$/;
const isReading = ({ method, path }: Operation) =>
  method === 'GET' || (method === 'POST' && path !== '/v3/documents' && reading.test(path)) || ownAnswers.test(path);
/** A link to the console may what its key may, and no more. */
const isLink = ({ path }: Operation) => path === '/console/links';
/** Whoever signs in sends the key in the body, which is checked first. */
const isPublic = ({ method, path }: Operation) =>
  (method === 'POST' && path === '/console/session') ||
  /^\/(?:$|health|ready|live|version|openapi|docs|files|metrics$)|\/hooks?\/|webhook|callback|\/v3\/auth\/callback/.test(
    path,
  );

/**
 * Every operation with every kind of key. Nobody without a key gets further than the door, no key changes what it
 * may only read, and none shows what stands in a container that it may not see.
 */
export async function attackScopes({ operations, keys, known, sender }: Target, report: (fault: string) => void) {
  const kinds = Object.keys(keys) as KeyKind[];
  const tries = kinds
    .filter((kind) => kind !== 'full')
    .flatMap((kind) => operations.flatMap((operation) => [1, 2, 3, 5].map((seed) => ({ kind, operation, seed }))));
  await inParallel(tries, 16, async ({ kind, operation, seed }) => {
    if (operation.path.endsWith('/events')) return;
    const { status, text } = await sender.send({ ...requestOf(operation, seed, known), key: keys[kind] });
    const fault = faultOf(kind, operation, status, text);
    if (fault !== null) report(`${operation.name} with the key "${kind}": ${fault}`);
  });
}

function faultOf(kind: KeyKind, operation: Operation, status: number, text: string): string | null {
  if (status === 0) return `no answer: ${text}`;
  if (kind !== 'reads known' && text.includes(canary)) return 'shows what it may not see';
  if (kind === 'none' || kind === 'wrong' || kind === 'expired') {
    const expected = isPublic(operation) || status === 401 || (kind !== 'none' && status === 429);
    return expected ? null : `${status}, not 401`;
  }
  if (kind === 'reads known' && operation.path.endsWith('/batch') && /"success": ?[1-9]/.test(text))
    return 'takes an entry, though it may only read';
  if (kind === 'reads known' && !isReading(operation) && !isLink(operation) && !isPublic(operation) && status < 300)
    return `${status}, though it may only read`;
  return status >= 500 && status !== 501 && status !== 503 ? String(status) : null;
}

/** About the container `known`, wherever a request names one. */
function requestOf(operation: Operation, seed: number, known: Target['known']): Sent {
  const { method, body, form } = operation;
  const path = addressOf(operation, seed, known);
  if (form) return { method, path, ...asForm(generated(form, seed, true)) };
  if (!body) return { method, path };
  const value = generated(body, seed, seed % 2 === 0);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const fields = value as Record<string, unknown>;
    if ('containerTag' in fields) fields['containerTag'] = 'known';
    if ('containerTags' in fields) fields['containerTags'] = ['known'];
    for (const name of ['q', 'query']) if (name in fields) fields[name] = 'Where does Mira live?';
  }
  return { method, path, body: JSON.stringify(value) ?? '' };
}
