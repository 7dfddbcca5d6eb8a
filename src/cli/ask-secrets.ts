import type { JsonSchema } from '../connector/contract.ts';
import type { AuthorizationWay } from './client.ts';
import type { CommandContext } from './context.ts';
import type { SettingTexts } from './settings.ts';

interface Property {
  title?: unknown;
  description?: unknown;
  'x-secret'?: unknown;
}

/**
 * Asks for what is needed to authorize and was not given, when somebody sits at the terminal:
 * secrets unseen, the rest in sight. Nothing has to be given: then the user's consent is asked for.
 */
export async function askMissing(
  texts: SettingTexts,
  configSchema: JsonSchema | undefined,
  ways: readonly AuthorizationWay[],
  { ask }: CommandContext,
): Promise<void> {
  if (!ask) return;
  const wanted = [configSchema, chosenFields(texts, ways)].flatMap((schema) => (schema ? missing(schema, texts) : []));
  for (const [name, property] of wanted) {
    const answer = await ask(`${question(name, property)}: `, { hidden: property['x-secret'] === true });
    if (answer !== '') texts.set(name, [answer]);
  }
}

/** The schema of the authorization with all its ways: what is given is given the types that it says. */
export function withAuthorization(configSchema: JsonSchema | undefined, ways: readonly AuthorizationWay[]): JsonSchema {
  const schemas = [...ways.flatMap(({ fields }) => (fields ? [fields] : [])), ...(configSchema ? [configSchema] : [])];
  return { ...configSchema, properties: Object.assign({}, ...schemas.map(propertiesOf)) as object };
}

/** The way of which something is given; else the first, which is the default, unless that is consent. */
function chosenFields(texts: SettingTexts, ways: readonly AuthorizationWay[]): JsonSchema | undefined {
  const withFields = ways.flatMap(({ fields }) => (fields ? [fields] : []));
  const begun = withFields.find((fields) => Object.keys(propertiesOf(fields)).some((name) => texts.has(name)));
  if (begun) return begun;
  return ways[0]?.fields ?? undefined;
}

/** What a schema requires and nobody gave. */
function missing(schema: JsonSchema, texts: SettingTexts): [string, Property][] {
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  return Object.entries(propertiesOf(schema)).filter(([name]) => required.includes(name) && !texts.has(name));
}

function propertiesOf(schema: JsonSchema): Record<string, Property> {
  return (schema['properties'] ?? {}) as Record<string, Property>;
}

function question(name: string, { title, description }: Property): string {
  const words = [title, description].find((text) => typeof text === 'string' && text !== '');
  return typeof words === 'string' ? `${words} (${name})` : name;
}
