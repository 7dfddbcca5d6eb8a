import { readFile } from 'node:fs/promises';
import { badConfig, defineConnector, probe, type Context } from '../../src/connector/contract.ts';

interface Config {
  /** A JSON file: texts by id, by shelf. */
  file: string;
}

type Shelves = Record<string, Record<string, string>>;

async function readShelves({ config }: Context<Config>): Promise<Shelves> {
  try {
    return JSON.parse(await readFile(config.file, 'utf8')) as Shelves;
  } catch {
    throw badConfig('The file of the shelves cannot be read.', 'Give the path of a JSON file.');
  }
}

/** A connector as a plugin brings it: shelves of texts in a file, of which some can be chosen. */
// oxlint-disable-next-line import/no-default-export -- that is what makes a module a plugin
export default defineConnector<Config>({
  spec: {
    name: 'shelves',
    version: '0.1.0',
    title: 'Shelves',
    kind: 'other',
    description: 'Texts on the shelves of a file.',
    config: {
      type: 'object',
      required: ['file'],
      additionalProperties: false,
      properties: { file: { type: 'string' } },
    },
    auth: [],
    schedule: { everyMs: 3_600_000 },
  },
  check: async (context) => [await probe('file', 'Read the file', async () => void (await readShelves(context)))],
  async resources(context) {
    const names = Object.keys(await readShelves(context));
    return { resources: names.map((name) => ({ id: name, name })), total: names.length };
  },
  async partitions(context) {
    const names = Object.keys(await readShelves(context));
    const chosen = context.selection.map(({ id }) => id);
    const shown = chosen.length === 0 ? names : names.filter((name) => chosen.includes(name));
    return shown.map((name) => ({ id: name, resource: name }));
  },
  async list(context, { id: shelf }) {
    const texts = (await readShelves(context))[shelf] ?? {};
    return { refs: Object.entries(texts).map(([id, text]) => ({ id, rev: text, title: id })), done: true };
  },
  async fetch(context, { id: shelf }, ref) {
    const text = (await readShelves(context))[shelf]?.[ref.id];
    return text === undefined ? { gone: true } : { title: ref.id, text };
  },
});
