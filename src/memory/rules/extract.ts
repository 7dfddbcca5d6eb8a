import type { Candidate, Turn, Unit } from '../extractor.ts';
import { episodeOf } from './episodes.ts';
import { factsOf } from './facts.ts';
import { isEnglish } from './language.ts';
import { sentencesOf } from './sentences.ts';
import { turnsWithin } from './turns.ts';

const mostFacts = 2000;
const mostEpisodes = 20_000;

export const rules = { id: 'rules-1', extract: extractByRules };

/**
 * Finds facts and episodes by rules, without a model; precision before recall. English; of other languages only
 * episodes. Pure, synchronous, and linear in the length of the text.
 */
function extractByRules(unit: Unit): Candidate[] {
  const turns = turnsWithin(unit.turns);
  const nobody = nameOfUnnamed(unit, turns);
  const facts: Candidate[] = [];
  const episodes: Candidate[] = [];
  for (const turn of turns) {
    const speaker = speakerOf(turn, unit, nobody);
    if (!isHeard(turn)) continue;
    const sentences = sentencesOf(turn.text);
    if (facts.length < mostFacts && unit.wants.includes('fact') && turn.role !== 'assistant' && isEnglish(turn.text))
      facts.push(...factsOf(turn, sentences, unit, speaker));
    if (episodes.length >= mostEpisodes || !unit.wants.includes('episode') || speaker === null) continue;
    const episode = episodeOf(turn, sentences, unit, speaker);
    if (episode) episodes.push(episode);
  }
  return [...facts.slice(0, mostFacts), ...episodes];
}

function isHeard({ role }: Turn): boolean {
  return role !== 'system' && role !== 'tool';
}

function speakerOf(turn: Turn, unit: Unit, nobody: string | null): string | null {
  if (turn.speaker !== null) return turn.speaker;
  return turn.role === 'assistant' ? 'the assistant' : (unit.author ?? nobody);
}

/**
 * Who speaks where nobody is named: the one that the text or the caller names, else `the user`. Nobody, where
 * others are named, as two people cannot both be the user, and in what was not told to memory.
 */
function nameOfUnnamed(unit: Unit, turns: readonly Turn[]): string | null {
  if (unit.trust !== 'told') return null;
  const unnamed = turns.filter(({ speaker, role }) => speaker === null && role !== 'assistant');
  for (const { text } of unnamed) {
    const told =
      /\b(?:[Mm]y name is|[Mm]y name's|[Cc]all me|I['’]m called) (?<name>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)/u.exec(
        text.slice(0, 100_000),
      );
    if (told && !noName.test(told.groups!['name']!.split(' ')[0]!)) return told.groups!['name']!;
  }
  const known = nameIn(unit.entityContext ?? '');
  if (known !== null) return known;
  const others = turns.some(({ speaker, role }) => speaker !== null && role !== 'assistant');
  return others ? null : 'the user';
}

const noName =
  /^(?:The|This|That|It|User|He|She|They|A|An|My|Our|In|What|Who|Conversation|Messages?|Chat|Assistant|Customer)$/;

function nameIn(context: string): string | null {
  const found =
    /\b(?:named?(?: is)?|called|user is|user:|user's name is) (?<name>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?)|^(?<first>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)?) (?:is|was|works|lives)\b/u.exec(
      context.slice(0, 2000),
    )?.groups;
  const name = found?.['name'] ?? found?.['first'];
  return name === undefined || noName.test(name.split(' ')[0]!) ? null : name;
}
