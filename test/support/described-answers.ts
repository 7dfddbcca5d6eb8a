import { Ajv2020 } from 'ajv/dist/2020.js';

/** One answer of the API, as it came over the wire. */
export interface Answer {
  method: string;
  /** Path with its query. */
  url: string;
  status: number;
  contentType: string;
  text: string;
}

interface Described {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, object> }> }>>;
}

/** Section 1 rule 7: UTC with milliseconds. */
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Compares answers with the OpenAPI document that the daemon serves. Each call answers what is wrong. */
export function createAnswerCheck(document: object): (answer: Answer) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': timestamp, uri: true } });
  ajv.addSchema(document, 'api');
  const { paths } = document as Described;
  // Paths without parameters before those that would match them as well.
  const templates = Object.keys(paths).sort((a, b) => a.split('{').length - b.split('{').length);

  return function check({ method, url, status, contentType, text }) {
    const named = `${method} ${url} ${status}`;
    const path = url.split('?')[0]!;
    const template = templates.find((one) => patternOf(one).test(path) && paths[one]![method.toLowerCase()]);
    if (template === undefined) return status === 404 ? [] : [`${named}: the description has no such operation`];
    const described = paths[template]![method.toLowerCase()]!.responses[status];
    if (!described) return [`${named}: the description has no such status`];
    const types = Object.keys(described.content ?? {});
    if (types.length === 0) return text === '' ? [] : [`${named}: an answer that is described as empty`];
    const type = types.find((one) => contentType.startsWith(one));
    if (type === undefined) return [`${named}: ${contentType}, described are ${types.join(', ')}`];
    if (!type.includes('json')) return [];
    const pointer = ['paths', template, method.toLowerCase(), 'responses', String(status), 'content', type, 'schema'];
    const $ref = `api#/${pointer.map(escaped).join('/')}`;
    const validate = ajv.getSchema($ref) ?? ajv.compile({ $ref });
    if (validate(JSON.parse(text))) return [];
    return (validate.errors ?? []).map((error) => `${named}: ${error.instancePath} ${error.message}`);
  };
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`);
}

/** `fetch` that keeps every answer it gets. */
export function createWatchedFetch(inner: typeof fetch = fetch): { fetch: typeof fetch; answers: Answer[] } {
  const answers: Answer[] = [];
  const watched: typeof fetch = async (input, init) => {
    const response = await inner(input, init);
    const { protocol, pathname, search } = new URL(input instanceof Request ? input.url : input);
    // The client reads a `data:` address to see what its platform can do.
    if (!protocol.startsWith('http')) return response;
    answers.push({
      method: init?.method?.toUpperCase() ?? 'GET',
      url: pathname + search,
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      text: await response.clone().text(),
    });
    return response;
  };
  return { fetch: watched, answers };
}
