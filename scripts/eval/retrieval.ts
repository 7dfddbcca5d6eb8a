import type { Client, Hit, Mode, NewDocument, Way } from './client.ts';
import type { Figure } from './report.ts';
import type { BeirSet, ConversationSet } from './sets.ts';
import { estimate, meanOf, ndcgAt, percentile, recallAt, type Estimate } from './statistics.ts';

export type Granularity = 'turn' | 'session';

/** What one question brought in one way. */
interface Answer {
  category: string;
  way: Way;
  scores: Record<string, number>;
  ms: number;
}

const limit = 25;

export async function measureConversations(
  client: Client,
  name: string,
  set: ConversationSet,
  { granularity, ways }: { granularity: Granularity; ways: readonly Way[] },
): Promise<Figure[]> {
  const answers: Answer[] = [];
  for (const conversation of set.conversations) {
    const containerTag = tagOf(name, conversation.id, granularity);
    await client.add(containerTag, documentsOf(conversation, granularity));
    const texts = new Map(conversation.turns.map((turn) => [turn.id, turn.text]));
    const homes = new Map(
      conversation.turns.map((turn) => [turn.id, granularity === 'turn' ? turn.id : sessionOf(turn)]),
    );
    for (const { question, category = 'all', evidence } of conversation.questions) {
      if (evidence.length === 0) continue;
      const wanted = new Map(evidence.map((id) => [homes.get(id) ?? id, 1]));
      const turns = evidence.map((id) => ({ text: texts.get(id) ?? '', home: homes.get(id) ?? id }));
      for (const way of ways) {
        const { hits, ms } = await client.search(containerTag, question, way, limit);
        const within = {
          'evidence in 250 tokens': foundWithin(hits, turns, 250),
          'evidence in 500 tokens': foundWithin(hits, turns, 500),
        };
        answers.push({ category, way, ms, scores: { ...rankScores(hits, wanted), ...within } });
      }
    }
  }
  return figuresOf(`${name}, ${granularity}s`, answers);
}

export async function measureBeir(client: Client, name: string, set: BeirSet, ways: readonly Way[]): Promise<Figure[]> {
  const containerTag = tagOf(name, 'corpus');
  const documents = set.corpus.map(({ _id, title = '', text }) => ({
    customId: _id,
    content: `${title}\n\n${text}`.trim(),
    date: null,
  }));
  await client.add(containerTag, documents);
  const answers: Answer[] = [];
  for (const { _id, text, category = 'all' } of set.queries) {
    const wanted = set.relevant.get(_id);
    if (!wanted) continue;
    for (const way of ways) {
      const { hits, ms } = await client.search(containerTag, text, way, limit);
      answers.push({ category, way, ms, scores: rankScores(hits, wanted) });
    }
  }
  return figuresOf(name, answers);
}

export function tagOf(...parts: string[]): string {
  return parts
    .join('_')
    .replace(/[^\w-]+/g, '_')
    .slice(0, 90);
}

type Turn = ConversationSet['conversations'][number]['turns'][number];

function sessionOf({ session }: Turn): string {
  return `session-${session}`;
}

/** Turns as `Name: text`, each a document or all of a session in one. */
function documentsOf({ turns }: ConversationSet['conversations'][number], granularity: Granularity): NewDocument[] {
  const line = ({ speaker, text }: Turn) => `${speaker}: ${text.replaceAll('\n', ' ')}`;
  if (granularity === 'turn')
    return turns.map((turn) => ({ customId: turn.id, content: line(turn), date: turn.date ?? null }));
  return [...Map.groupBy(turns, sessionOf)].map(([customId, said]) => ({
    ...{ customId, content: said.map(line).join('\n') },
    date: said[0]!.date ?? null,
  }));
}

function rankScores(hits: readonly Hit[], wanted: ReadonlyMap<string, number>): Record<string, number> {
  const ranked = [...new Set(hits.flatMap(({ documents }) => documents))];
  return {
    'R@5': recallAt(ranked, wanted, 5),
    'R@10': recallAt(ranked, wanted, 10),
    'R@25': recallAt(ranked, wanted, 25),
    'nDCG@10': ndcgAt(ranked, wanted, 10),
  };
}

/** Share of the evidence whose words are in the first results that fit into so many tokens (four characters each). */
function foundWithin(
  hits: readonly Hit[],
  evidence: readonly { text: string; home: string }[],
  tokens: number,
): number {
  const read: Hit[] = [];
  let room = tokens * 4;
  for (const hit of hits) {
    read.push({ ...hit, text: hit.text.slice(0, room) });
    room -= hit.text.length;
    if (room <= 0) break;
  }
  const isFound = ({ text, home }: { text: string; home: string }) => {
    const words = contentWords(text);
    const shown = new Set(
      read.filter(({ documents }) => documents.includes(home)).flatMap((hit) => [...contentWords(hit.text)]),
    );
    return [...words].filter((word) => shown.has(word)).length >= 0.6 * words.size;
  };
  return meanOf(evidence.map((one) => (isFound(one) ? 1 : 0)));
}

function contentWords(text: string): Set<string> {
  return new Set((text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).map((word) => word.slice(0, 6)));
}

/** What is said of each category too. */
const byCategory = ['R@10', 'nDCG@10', 'evidence in 250 tokens'];

function figuresOf(set: string, answers: readonly Answer[]): Figure[] {
  const ways = [...new Set(answers.map(({ way }) => way))];
  const categories = [...new Set(answers.map(({ category }) => category))].sort();
  return ways.flatMap((way) => {
    const of = answers.filter((one) => one.way === way);
    const mode = way.rerank ? `${way.mode}, rerank` : way.mode;
    const metrics = Object.keys(of[0]?.scores ?? {});
    const scores = (metric: string, some: readonly Answer[]) => some.map((one) => one.scores[metric]!);
    const figure = (metric: string, some: readonly Answer[], name = metric): Figure => ({
      ...{ set, mode, metric: name, ...estimate(scores(metric, some)) },
    });
    const each = categories.map((category) => ({ category, some: of.filter((one) => one.category === category) }));
    const apart = each.length < 2 ? [] : metrics.filter((metric) => byCategory.includes(metric));
    const macro = meanOf(each.map(({ some }) => meanOf(scores('nDCG@10', some))));
    const times = of.map(({ ms }) => ms);
    const plainly = answers.filter((one) => !one.way.rerank && one.way.mode === way.mode);
    const gains = way.rerank ? of.map((one, place) => one.scores['nDCG@10']! - plainly[place]!.scores['nDCG@10']!) : [];
    return [
      ...metrics.map((metric) => figure(metric, of)),
      ...apart.flatMap((metric) => each.map(({ category, some }) => figure(metric, some, `${metric} ${category}`))),
      { set, mode, metric: 'nDCG@10 macro', ...plain(macro, each.length) },
      ...(way.rerank ? [{ set, mode, metric: 'nDCG@10 gained', ...estimate(gains) }] : []),
      ...compared.flatMap((metric) => toBetterArm(metric, way, answers).map((some) => ({ set, mode, ...some }))),
      { set, mode, metric: 'latency p50 ms', ...plain(percentile(times, 0.5), times.length) },
      { set, mode, metric: 'latency p95 ms', ...plain(percentile(times, 0.95), times.length) },
    ];
  });
}

/** What hybrid search is compared with its arms by. */
const compared = ['nDCG@10', 'evidence in 250 tokens'];

/** Of hybrid search, question by question, how much more it has than the arm that has more of all. */
function toBetterArm(metric: string, way: Way, answers: readonly Answer[]): (Estimate & { metric: string })[] {
  const scoresOf = (mode: Mode) =>
    answers
      .filter((one) => one.way.mode === mode && one.way.rerank === way.rerank)
      .flatMap(({ scores }) => scores[metric] ?? []);
  const own = scoresOf('hybrid');
  const arms = [scoresOf('documents'), scoresOf('memories')].filter(({ length }) => length > 0);
  if (way.mode !== 'hybrid' || own.length === 0 || arms.length < 2) return [];
  const [better] = arms.toSorted((a, b) => meanOf(b) - meanOf(a)) as [number[], ...number[][]];
  const more = own.map((value, place) => value - better[place]!);
  return [{ metric: `${metric}, more than the better arm`, ...estimate(more) }];
}

function plain(value: number, count: number) {
  return { mean: value, low: value, high: value, count };
}
