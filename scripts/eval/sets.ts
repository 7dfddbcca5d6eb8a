import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

export interface ConversationSet {
  layout: 'conversations';
  conversations: {
    id: string;
    turns: { id: string; session: string | number; date?: string; speaker: string; text: string }[];
    questions: { id: string; question: string; category?: string; evidence: string[] }[];
  }[];
}
export interface BeirSet {
  layout: 'beir';
  corpus: { _id: string; title?: string; text: string }[];
  queries: { _id: string; text: string; category?: string }[];
  /** By query: document and grade. */
  relevant: Map<string, Map<string, number>>;
}
export interface SentenceSet {
  layout: 'sentences';
  sentences: { id: string; speaker: string | null; text: string; facts: string[] }[];
}
export interface UpdateSet {
  layout: 'updates';
  updates: { id: string; category?: string; older: string; distractors: string[]; newer: string }[];
}
/** What a container is told and reads, and the only statements that its profile and facts may hold. */
export interface ProfileSet {
  layout: 'profiles';
  profiles: { id: string; told: string[]; read: string[]; facts: string[] }[];
}
export type EvalSet = { name: string } & (ConversationSet | BeirSet | SentenceSet | UpdateSet | ProfileSet);

/** A file, or a folder with `corpus.jsonl`; any other folder is all the sets in it. */
export async function loadSets(path: string): Promise<EvalSet[]> {
  if (!(await stat(path)).isDirectory()) return [await loadFile(path)];
  const names = await readdir(path);
  if (names.includes('corpus.jsonl')) return [{ name: basename(path), ...(await loadBeir(path)) }];
  const files = names.filter((name) => /\.jsonl?$/.test(name)).sort();
  return Promise.all(files.map((name) => loadFile(join(path, name))));
}

async function loadFile(path: string): Promise<EvalSet> {
  const name = basename(path).replace(/\.jsonl?$/, '');
  if (path.endsWith('.json')) {
    const parsed = JSON.parse(await readFile(path, 'utf8')) as { conversations?: ConversationSet['conversations'] };
    if (!parsed.conversations) throw new Error(`${path}: a .json file holds { "conversations": [...] }.`);
    return { name, layout: 'conversations', conversations: parsed.conversations };
  }
  const lines = await readLines<Record<string, unknown>>(path);
  const first = lines[0] ?? {};
  if ('older' in first) return { name, layout: 'updates', updates: lines as unknown as UpdateSet['updates'] };
  if ('told' in first) return { name, layout: 'profiles', profiles: lines as unknown as ProfileSet['profiles'] };
  if ('facts' in first) return { name, layout: 'sentences', sentences: lines as unknown as SentenceSet['sentences'] };
  throw new Error(`${path}: no known layout. docs/evaluation.md describes them.`);
}

async function loadBeir(path: string): Promise<BeirSet> {
  const relevant = new Map<string, Map<string, number>>();
  for (const line of (await readJudgments(path)).split(/\r?\n/)) {
    const [query, document, grade] = line.split('\t');
    if (grade === undefined || !(Number(grade) > 0)) continue;
    const grades = relevant.get(query!) ?? new Map<string, number>();
    relevant.set(query!, grades.set(document!, Number(grade)));
  }
  return {
    layout: 'beir',
    corpus: await readLines(join(path, 'corpus.jsonl')),
    queries: await readLines(join(path, 'queries.jsonl')),
    relevant,
  };
}

/** `qrels.tsv`, or a folder `qrels`: its `test.tsv` when there is one, as other parts are for training, else all of it. */
async function readJudgments(path: string): Promise<string> {
  const folder = join(path, 'qrels');
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.tsv'));
  const files = names.includes('test.tsv') ? ['test.tsv'] : names;
  const paths = files.length > 0 ? files.map((name) => join(folder, name)) : [join(path, 'qrels.tsv')];
  return (await Promise.all(paths.map((file) => readFile(file, 'utf8')))).join('\n');
}

async function readLines<Line>(path: string): Promise<Line[]> {
  const text = await readFile(path, 'utf8');
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line) as Line]));
}
