import type { Answering } from '../../models/language-model.ts';
import type { Queryable } from '../../store/database.ts';
import { contentSettingsKey, readSetting } from '../../store/settings.ts';
import type { Candidate, Extractor, Unit } from '../extractor.ts';
import { memoryHash } from '../memory-rows.ts';
import { candidateOf } from './check-fact.ts';
import { factInstructions, factsSchema, knownText, windowText, type Fact } from './fact-question.ts';
import { memoriesNear, resolveFacts, type ResolvingOptions } from './resolve-facts.ts';
import { windowsOf, type Window } from './windows.ts';

export interface LlmExtractorOptions extends ResolvingOptions {
  answering: Answering;
  /** Reads what the model does not: episodes, and windows that it gave no usable answer for. */
  rules: Extractor;
}

/** Facts of one window at the most. */
const mostFacts = 40;
const maxAnswerTokens = 2_000;

/**
 * Finds facts with a language model, window by window, and compares them with stored ones. What it answers is
 * checked by code before it counts, and it can remove nothing. Episodes are made by the rules, of the turns'
 * own words. Windows without an answer are read by the rules, and their candidates say so.
 */
export function createLlmExtractor(options: LlmExtractorOptions): Extractor {
  const { answering, rules, database } = options;
  const id = `llm:${answering.id}`;

  async function byRules(unit: Unit, signal: AbortSignal): Promise<Candidate[]> {
    if (unit.wants.length === 0) return [];
    const found = await rules.extract(unit, signal);
    return found.filter(({ kind }) => unit.wants.includes(kind)).map((one) => ({ ...one, extractor: rules.id }));
  }

  async function facts(
    unit: Unit & { source: NonNullable<Unit['source']> },
    signal: AbortSignal,
  ): Promise<Candidate[]> {
    const instructions = factInstructions(await wantedOf(database));
    const found: Candidate[] = [];
    for (const window of windowsOf(unit)) {
      const told = await askFor(unit, window, { options, instructions, signal });
      if (told) found.push(...(await resolveFacts(unique(told), unit, { options, signal })));
      else found.push(...(await byRules({ ...unit, turns: window.turns, wants: ['fact'] }, signal)));
    }
    return unique(found);
  }

  return {
    id,
    async extract(unit, signal) {
      signal.throwIfAborted();
      const { source } = unit;
      if (!source || !unit.wants.includes('fact')) return byRules(unit, signal);
      const episodes = await byRules({ ...unit, wants: unit.wants.filter((kind) => kind === 'episode') }, signal);
      return [...(await facts({ ...unit, source }, signal)), ...episodes];
    },
  };
}

interface Asking {
  options: LlmExtractorOptions;
  instructions: string;
  signal: AbortSignal;
}

/** Null when the model gave no usable answer. */
async function askFor(
  unit: Unit & { source: NonNullable<Unit['source']> },
  window: Window,
  { options, instructions, signal }: Asking,
): Promise<Candidate[] | null> {
  const text = windowText(unit, window);
  const known = await memoriesNear(window.turns.map((turn) => turn.text).join('\n'), unit, { options, signal });
  const { containerTag, documentId } = unit.source;
  const question = {
    ...{ name: 'facts', instructions, schema: factsSchema, maxAnswerTokens, kind: 'document' as const },
    content: knownText(known) + text,
    containerTag,
    // Not by the known memories: what a window says does not change with them.
    cached: { documentId, by: [unit.trust, unit.author, text] },
  };
  const answer = (await options.answering.ask(question, signal)) as { facts: Fact[] } | null;
  return answer && answer.facts.slice(0, mostFacts).flatMap((fact) => candidateOf(fact, window, unit) ?? []);
}

function unique(candidates: readonly Candidate[]): Candidate[] {
  return [...new Map(candidates.map((one) => [memoryHash(one.text), one] as const).toReversed()).values()].toReversed();
}

/** What the owner keeps, by the settings; null: everything. */
async function wantedOf(database: Queryable): Promise<string | null> {
  const settings = await readSetting<{ shouldLLMFilter?: boolean; filterPrompt?: string | null }>(
    database,
    contentSettingsKey,
  );
  return settings?.shouldLLMFilter ? (settings.filterPrompt ?? null) : null;
}
