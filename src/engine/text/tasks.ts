import { hash } from 'node:crypto';
import { rules } from '../../memory/rules/extract.ts';
import type { Unit } from '../../memory/extractor.ts';
import { isTranscript } from '../../memory/policy.ts';
import { turnsOfText } from '../../memory/rules/turns.ts';
import type { TokenCounting } from '../../models/embedder.ts';
import { createTokenCounter } from '../../models/token-counting.ts';
import { chunk, type ChunkDraft } from '../chunk/chunk.ts';
import { withContext } from '../chunk/context.ts';
import { convert } from '../extract/convert.ts';
import type { Extracted, ExtractInput } from '../extract/extracted.ts';
import { toSource } from '../extract/to-source.ts';
import { packTerms, terms, type PackedTerms } from '../terms.ts';

/** How a text is to be cut. */
export interface Cutting {
  maxTokens: number;
  overlapTokens: number;
  /** How the embedder counts. */
  tokens: TokenCounting;
  /** Goes before the title that the content gives itself. */
  title: string | null;
}

/** A chunk with all of it that depends on its text alone. */
export interface CutChunk extends ChunkDraft, PackedTerms {
  /** Of context and content. */
  hash: string;
}

export interface CutDocument {
  extracted: Extracted;
  textHash: string;
  chunks: CutChunk[];
  /** It is made of turns of several people. */
  isTranscript: boolean;
}

/**
 * All work on content, by name: pure functions of what can be sent to a thread. Each has to be linear in
 * the length of its input; `test/unit/text-growth.test.ts` measures them.
 */
export const tasks = {
  extract: (input: ExtractInput): Promise<Extracted> => convert(toSource(input)),
  async prepare({ input, cutting }: { input: ExtractInput; cutting: Cutting }): Promise<CutDocument> {
    return cut(await convert(toSource(input)), cutting);
  },
  turns: ({ text }: { text: string }) => turnsOfText(text),
  statements: (unit: Unit) => rules.extract(unit),
};

export type Tasks = typeof tasks;
export type TaskName = keyof Tasks;

function cut(extracted: Extracted, { maxTokens, overlapTokens, tokens, title: givenTitle }: Cutting): CutDocument {
  const { text, format } = extracted;
  const title = givenTitle ?? extracted.title;
  const countTokens = createTokenCounter(tokens);
  const drafts = chunk(text, { format, maxTokens, overlapTokens, countTokens, ...(title !== null && { title }) });
  const chunks = drafts.map((draft): CutChunk => {
    const whole = withContext(draft.context, draft.content);
    return { ...draft, hash: hash('sha256', whole, 'base64'), ...packTerms(terms(whole)) };
  });
  return { extracted, textHash: hash('sha256', text, 'base64'), chunks, isTranscript: isTranscript(text) };
}
