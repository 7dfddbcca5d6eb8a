import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ConnectorSpec } from './contract.ts';
import { versionProblem } from './registry.ts';

const validName = /^[a-z][a-z0-9-]{1,31}$/;
const validVersion = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;
const kinds: readonly string[] = ['files', 'drive', 'notes', 'mail', 'code', 'other'] satisfies ConnectorSpec['kind'][];
const neededVerbs = ['check', 'partitions', 'list', 'fetch'];
const furtherVerbs = ['resources', 'head', 'changes', 'fetchMany', 'lookup', 'watch', 'groups', 'close'];
const authTypes = ['oauth2', 'xoauth2', 'apiKey', 'basic', 'serviceAccount', 'githubApp'];
/** Names of fields that hold a secret unless they say otherwise. */
const secretName = /secret|passw|token|api_?key|private_?key|credential/i;

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The provider name that a value claims as a connector; undefined for anything that is none. */
export function claimedName(value: unknown): string | undefined {
  const spec = isObject(value) ? value['spec'] : undefined;
  const name = isObject(spec) ? spec['name'] : undefined;
  return typeof name === 'string' && validName.test(name) ? name : undefined;
}

/** Everything that is wrong with a value as a connector, each as a sentence; empty when it can be used. */
export function connectorProblems(value: unknown): string[] {
  if (!isObject(value)) return ['It is no object made by defineConnector.'];
  const version = versionProblem(value);
  if (version !== undefined) return [version];
  const { spec } = value;
  if (!isObject(spec)) return ['It has no `spec`.'];
  return [...specProblems(spec), ...verbProblems(value), ...listingProblems(spec, value)];
}

function specProblems(spec: Fields): string[] {
  const problems: string[] = [];
  const must = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  must(
    typeof spec['name'] === 'string' && validName.test(spec['name']),
    '`spec.name` must be 2 to 32 lower-case letters, digits and hyphens, and begin with a letter.',
  );
  must(
    typeof spec['version'] === 'string' && validVersion.test(spec['version']),
    '`spec.version` must be a semantic version such as 1.0.0.',
  );
  for (const field of ['title', 'description']) {
    must(typeof spec[field] === 'string' && spec[field].trim() !== '', `\`spec.${field}\` must not be empty.`);
  }
  must(kinds.includes(spec['kind'] as string), `\`spec.kind\` must be one of ${kinds.join(', ')}.`);
  must(
    [undefined, 'exhaustive', 'partial'].includes(spec['listing'] as undefined),
    '`spec.listing` must be exhaustive or partial.',
  );
  problems.push(...schemaProblems('spec.config', spec['config']), ...authProblems(spec['auth']));
  return problems;
}

/** A partial listing needs `lookup`, because only asking tells items it left out from items that are gone. */
function listingProblems(spec: Fields, connector: Fields): string[] {
  if (spec['listing'] !== 'partial' || typeof connector['lookup'] === 'function') return [];
  return ['`spec.listing` is partial, so it needs the verb `lookup`: it says what is gone and what was only left out.'];
}

function authProblems(auth: unknown): string[] {
  if (!Array.isArray(auth)) return ['`spec.auth` must be a list; an empty one when nothing has to be authorized.'];
  return auth.flatMap((one: unknown, index) => {
    const at = `spec.auth[${index}]`;
    if (!isObject(one) || !authTypes.includes(one['type'] as string)) {
      return [`\`${at}.type\` must be one of ${authTypes.join(', ')}.`];
    }
    if (one['type'] !== 'oauth2' && one['type'] !== 'xoauth2') return schemaProblems(`${at}.fields`, one['fields']);
    const missing = ['authorizeUrl', 'tokenUrl'].filter((field) => typeof one[field] !== 'string');
    if (!Array.isArray(one['scopes'])) missing.push('scopes');
    return missing.map((field) => `\`${at}.${field}\` is missing.`);
  });
}

function schemaProblems(at: string, schema: unknown): string[] {
  if (!isObject(schema)) return [`\`${at}\` must be a JSON Schema.`];
  try {
    new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    return [];
  } catch (error) {
    return [`\`${at}\` is no valid JSON Schema: ${error instanceof Error ? error.message : String(error)}.`];
  }
}

function verbProblems(connector: Fields): string[] {
  const problems = neededVerbs
    .filter((verb) => typeof connector[verb] !== 'function')
    .map((verb) => `It has no verb \`${verb}\`.`);
  for (const verb of furtherVerbs) {
    if (connector[verb] !== undefined && typeof connector[verb] !== 'function')
      problems.push(`Its \`${verb}\` is no function.`);
  }
  if ((connector['head'] === undefined) !== (connector['changes'] === undefined)) {
    problems.push('`head` and `changes` belong together: it has only one of them.');
  }
  const { hooks } = connector;
  if (hooks !== undefined && !(isObject(hooks) && typeof hooks['receive'] === 'function')) {
    problems.push('Its `hooks` have no `receive`.');
  }
  return problems;
}

/** Fields of the configuration and of credentials whose names say that they are secrets, without the mark `x-secret`. */
export function unmarkedSecrets(spec: ConnectorSpec): string[] {
  const schemas: [at: string, schema: unknown][] = [['config', spec.config]];
  spec.auth.forEach((one, index) => {
    if ('fields' in one) schemas.push([`auth[${index}].fields`, one.fields]);
  });
  return schemas.flatMap(([at, schema]) => unmarkedIn(at, schema));
}

function unmarkedIn(at: string, schema: unknown): string[] {
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = `${at}.${name}`;
    if (!isObject(property)) return [];
    const isText = property['type'] === 'string' || property['type'] === undefined;
    const unmarked = isText && secretName.test(name) && typeof property['x-secret'] !== 'boolean';
    return [...(unmarked ? [path] : []), ...unmarkedIn(path, property)];
  });
}
