/**
 * Writes fixtures/servers/google-drive/discovery.json: of Google's own description of the Drive API only the methods
 * that are used, with their schemas and without words for people. The stand-in for Drive is checked against it. The
 * whole description is published at https://www.googleapis.com/discovery/v1/apis/drive/v3/rest:
 *
 *     node scripts/trim-drive-discovery.ts drive.v3.json
 */
import { readFileSync, writeFileSync } from 'node:fs';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

const used = [
  ...['about.get', 'changes.getStartPageToken', 'changes.list', 'changes.watch', 'channels.stop', 'comments.list'],
  ...['drives.get', 'drives.list', 'files.export', 'files.get', 'files.list'],
];
const forPeople = new Set(['description', 'enumDescriptions', 'annotations', 'scopes', 'id', 'parameterOrder']);
const output = new URL('../fixtures/servers/google-drive/discovery.json', import.meta.url);

/** Without what is for people; names of fields are none of it. */
function bare(value: Json, isNames = false): Json {
  if (Array.isArray(value)) return value.map((one) => bare(one));
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([key]) => isNames || !forPeople.has(key));
  return Object.fromEntries(kept.map(([key, below]) => [key, bare(below, ['properties', 'parameters'].includes(key))]));
}

function* referencesIn(value: Json): Generator<string> {
  if (value === null || typeof value !== 'object') return;
  for (const [key, below] of Object.entries(value)) {
    if (key === '$ref' && typeof below === 'string') yield below;
    else yield* referencesIn(below);
  }
}

const source = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as {
  revision: string;
  servicePath: string;
  parameters: JsonObject;
  schemas: JsonObject;
  resources: Record<string, { methods: Record<string, JsonObject> }>;
};
const methods = Object.fromEntries(
  used.map((name) => {
    const [resource, method] = name.split('.') as [string, string];
    const { path, httpMethod, parameters = {}, response = null } = source.resources[resource]!.methods[method]!;
    return [name, { httpMethod: httpMethod!, path: `${source.servicePath}${path as string}`, parameters, response }];
  }),
);
const schemas: JsonObject = {};
const queue = [...referencesIn(methods)];
for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
  if (schemas[name] !== undefined) continue;
  const schema = source.schemas[name]!;
  schemas[name] = schema;
  queue.push(...referencesIn(schema));
}
const trimmed = {
  revision: source.revision,
  parameters: bare(source.parameters, true),
  methods: bare(methods, true),
  schemas: bare(schemas, true),
};
writeFileSync(output, `${JSON.stringify(trimmed, null, 2)}\n`);
