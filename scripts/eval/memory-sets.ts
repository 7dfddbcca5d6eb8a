import type { Client, StoredMemory } from './client.ts';
import type { Figure } from './report.ts';
import { tagOf } from './retrieval.ts';
import type { ProfileSet, SentenceSet, UpdateSet } from './sets.ts';
import { matched } from './statements.ts';
import { estimate } from './statistics.ts';

/** Plans of today have not expired yet. */
const day = new Date().toISOString();

/** Each finding that a reader should see: what is wrong and what was missed. */
export type Remark = (text: string) => void;

/** Facts against labels. */
export async function measureSentences(
  client: Client,
  set: string,
  { sentences }: SentenceSet,
  remark: Remark,
): Promise<Figure[]> {
  const judged: number[] = [];
  const recalled: number[] = [];
  await eachOf(sentences, async ({ id, speaker, text, facts }) => {
    const containerTag = tagOf(set, id);
    const content = speaker === null || speaker === 'user' ? text : `${speaker}: ${text}`;
    await client.add(containerTag, [{ customId: id, content, date: day }]);
    const found = (await client.memories(containerTag))
      .filter(({ kind }) => kind === 'fact')
      .map(({ memory }) => memory);
    const { right, wrong, missed } = matched(found, facts);
    judged.push(...right.map(() => 1), ...wrong.map(() => 0));
    recalled.push(...facts.map((_, place) => (place < facts.length - missed.length ? 1 : 0)));
    for (const one of wrong) remark(`${id}: not expected: ${one}`);
    for (const one of missed) remark(`${id}: missed: ${one}`);
  });
  return [
    { set, mode: '', metric: 'facts that are right', ...estimate(judged) },
    { set, mode: '', metric: 'labelled facts that are found', ...estimate(recalled) },
  ];
}

/** Whether the newer statement takes the place of the older one, and of nothing else. */
export async function measureUpdates(
  client: Client,
  set: string,
  { updates }: UpdateSet,
  remark: Remark,
): Promise<Figure[]> {
  const followed: number[] = [];
  let isFalse = 0;
  await eachOf(updates, async ({ id, older, distractors, newer }) => {
    const containerTag = tagOf(set, id);
    const said = [older, ...distractors, newer];
    const origins = new Map<string, number>();
    for (const [place, content] of said.entries()) {
      const date = new Date(Date.now() - (said.length - place) * 3_600_000).toISOString();
      await client.add(containerTag, [{ customId: `${id}-${place}`, content, date }]);
      for (const { memory, history } of await client.memories(containerTag)) {
        for (const text of [memory, ...history.map((one) => one.memory)])
          if (!origins.has(text)) origins.set(text, place);
      }
    }
    const replaced = replacements(await client.memories(containerTag), origins);
    const isRight = replaced.some(([from, to]) => from === 0 && to === said.length - 1);
    const wrong = replaced.filter(([from, to]) => from !== to && !(from === 0 && to === said.length - 1));
    followed.push(isRight ? 1 : 0);
    isFalse += wrong.length;
    if (!isRight) remark(`${id}: not replaced: ${older} → ${newer}`);
    for (const [from, to] of wrong) remark(`${id}: falsely replaced: ${said[from] ?? '?'} → ${said[to] ?? '?'}`);
  });
  return [
    { set, mode: '', metric: 'newer replaces older', ...estimate(followed) },
    {
      set,
      mode: '',
      metric: 'count of false replacements',
      mean: isFalse,
      low: isFalse,
      high: isFalse,
      count: followed.length,
    },
  ];
}

/** By the place of what was said: which statement took the place of which other one. */
function replacements(memories: readonly StoredMemory[], origins: ReadonlyMap<string, number>): [number, number][] {
  return memories.flatMap(({ memory, history }) => {
    const versions = [...history.map((one) => one.memory), memory]
      .map((text) => origins.get(text) ?? -1)
      .sort((left, right) => left - right);
    return versions.slice(1).map((to, place): [number, number] => [versions[place]!, to]);
  });
}

/** Profiles and facts hold nothing but what is labelled, whatever else the container read. */
export async function measureProfiles(
  client: Client,
  set: string,
  { profiles }: ProfileSet,
  remark: Remark,
): Promise<Figure[]> {
  const clean: number[] = [];
  const judged: number[] = [];
  const recalled: number[] = [];
  let isFalse = 0;
  await eachOf(profiles, async ({ id, told, read, facts }) => {
    const containerTag = tagOf(set, id);
    await client.add(
      containerTag,
      told.map((content, place) => ({ customId: `${id}-${place}`, content, date: day })),
    );
    for (const [place, content] of read.entries()) await client.upload(containerTag, `${id}-${place}.txt`, content);
    const shown = matched(await client.profile(containerTag), facts);
    const stored = (await client.memories(containerTag))
      .filter(({ kind }) => kind === 'fact')
      .map(({ memory }) => memory);
    const all = matched(stored, facts);
    clean.push(shown.wrong.length === 0 ? 1 : 0);
    isFalse += shown.wrong.length;
    judged.push(...all.right.map(() => 1), ...all.wrong.map(() => 0));
    recalled.push(...facts.map((_, place) => (place < facts.length - all.missed.length ? 1 : 0)));
    for (const one of shown.wrong) remark(`${id}: in the profile: ${one}`);
    for (const one of all.wrong) remark(`${id}: not expected: ${one}`);
    for (const one of all.missed) remark(`${id}: missed: ${one}`);
  });
  return [
    { set, mode: '', metric: 'profiles without a false statement', ...estimate(clean) },
    {
      set,
      mode: '',
      metric: 'count of false statements in profiles',
      mean: isFalse,
      low: isFalse,
      high: isFalse,
      count: clean.length,
    },
    { set, mode: '', metric: 'facts that are right', ...estimate(judged) },
    { set, mode: '', metric: 'labelled facts that are found', ...estimate(recalled) },
  ];
}

/** A few at a time: each waits for its documents. */
async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const one = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 6 }, one));
}
