import type { JsonSchema } from 'json-schema-faker';
import type { Random } from '../../src/connector-kit/setup.ts';
import { createRandom } from '../../src/connector-kit/setup.ts';
import { addressOf, generated, mutated, type Operation } from '../../test/support/generated-requests.ts';
import { asForm } from './forms.ts';
import { inParallel, type Answered, type Sent } from './sender.ts';
import { nastyValues } from './nasty-values.ts';
import type { Target } from './target.ts';

/**
 * Operations that make what comes after them pointless: they take the keys away that are used here, or everything that
 * was stored, or fill the disk. They have their turn in the matrix of keys, and in the tests of the API.
 */
const ending =
  /DELETE \/v3\/auth|toggle|rotate|DELETE \/v3\/settings|reset|erasures|POST \/v3\/system\/backups|\/events$/;

/** Valid and broken requests of every operation in turns, until so many were sent. 501 and 503 are answers, 500 is none. */
export async function attackSchemas(
  target: Target,
  { requests, seed }: { requests: number; seed: number },
  report: (fault: string) => void,
) {
  const { operations, known, keys, sender } = target;
  const tried = operations.filter(({ name }) => !ending.test(name));
  const each = Math.max(1, Math.min(mostEach, Math.floor(requests / tried.length / 3)));
  function* requestsToSend() {
    const random = createRandom(seed);
    for (let count = 0; count < requests; count++)
      yield { operation: tried[count % tried.length]!, draw: random.below(2 ** 30) };
  }
  await inParallel(requestsToSend(), 24, async ({ operation, draw }) => {
    const sent = requestOf(operation, draw, each, known);
    const answered = await sender.send({ ...sent, key: keys.full });
    const fault = faultOf(answered);
    if (fault !== null) report(`${operation.name} (draw ${draw}): ${fault}`);
  });
}

function faultOf({ status, text }: Answered): string | null {
  if (status === 0) return `no answer: ${text}`;
  return status < 500 || status === 501 || status === 503 ? null : `${status} ${text.slice(0, 200)}`;
}

/** A third valid, a third with one part replaced, a third with a nasty text in a place of the body, path or query. */
function requestOf(operation: Operation, draw: number, each: number, known: Target['known']): Sent {
  const { method, body, form } = operation;
  const random = createRandom(draw);
  const kind = random.below(3);
  const path =
    kind === 2 && random.chance(0.3) ? nastyPath(operation, draw) : addressOfSome(operation, random.below(each), known);
  const schema = form ?? body;
  if (!schema) return { method, path };
  const valid = validOf(schema, random.below(each));
  const value =
    kind === 0 ? valid : kind === 1 ? mutated(valid, random.below(500), random.below(500)) : withNastyText(valid, draw);
  if (form) return { method, path, ...asForm(value) };
  return { method, path, body: JSON.stringify(value) ?? '' };
}

/** To make a value takes longer than to answer a request with it: each is used again, broken in another place. */
const mostEach = 16;
const valid = new Map<JsonSchema, unknown[]>();
const addresses = new Map<Operation, string[]>();

function validOf(schema: JsonSchema, place: number): unknown {
  const values = valid.get(schema) ?? [];
  valid.set(schema, values);
  return (values[place] ??= generated(schema, place, place % 2 === 0));
}

function addressOfSome(operation: Operation, place: number, known: Target['known']): string {
  const made = addresses.get(operation) ?? [];
  addresses.set(operation, made);
  return (made[place] ??= addressOf(operation, place, known));
}

function nastyPath({ path }: Operation, draw: number): string {
  const text = createRandom(draw).pick(nastyValues).slice(0, 2_000).toWellFormed();
  return path.replaceAll(/\{\w+\}/g, encodeURIComponent(text) || 'x');
}

/** The longest are rare: they would be most of what is sent. */
function nastyText(random: Random): string {
  const text = random.pick(nastyValues);
  return text.length < 5_000 || random.chance(0.05) ? text : text.slice(0, 500);
}

/** Every text of the value that the draw hits is replaced. */
function withNastyText(value: unknown, draw: number): unknown {
  const random = createRandom(draw + 1);
  const walk = (part: unknown): unknown => {
    if (typeof part === 'string') return random.chance(0.4) ? nastyText(random) : part;
    if (Array.isArray(part)) return part.map(walk);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, entry]) => [key, walk(entry)]));
  };
  return walk(value);
}
