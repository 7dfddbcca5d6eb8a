import { firstOf } from '../../base/collections.ts';
import type { Block } from './blocks.ts';
import type { Measure } from './measure.ts';

/** The headings above a block, as the line that is embedded with a chunk that starts there. */
export interface Contexts {
  /** `Title > Section`, or null when nothing stands above. */
  of(block: Block): string | null;
  /** Tokens that are left for the content of a chunk that starts at the block. */
  budget(block: Block): number;
}

const separator = ' > ';
/** The share of a chunk that its context may take. */
const maxShare = 0.25;
const shortestLabel = 4;

/** The text of a chunk as the embedder and the lexical index see it. */
export function withContext(context: string | null, content: string): string {
  return context === null ? content : `${context}\n\n${content}`;
}

/** What stands above all headings of a document. */
interface Above {
  title: string | undefined;
  place: string | undefined;
}

export function createContexts({ title, place }: Above, measure: Measure): Contexts {
  const known = new Map<string, { context: string | null; tokens: number }>();
  const find = (block: Block) => {
    const titled = partsFor(block, title);
    const parts = place === undefined ? titled : [place, ...titled];
    const key = parts.join(separator);
    const found = known.get(key) ?? fit(parts, measure);
    known.set(key, found);
    return found;
  };
  return {
    of: (block) => find(block).context,
    budget: (block) => Math.max(1, measure.maxTokens - measure.overhead - find(block).tokens),
  };
}

function partsFor(block: Block, title: string | undefined): string[] {
  const path = block.path.filter((part) => part !== '');
  const known = title === undefined || title === '' || title === (path[0] ?? block.label);
  return known ? path : [title, ...path];
}

/** Drops the outermost headings, then cuts the innermost, until the context leaves room for content. */
function fit(parts: string[], measure: Measure): { context: string | null; tokens: number } {
  const limit = measure.maxTokens * maxShare;
  let kept = parts;
  while (kept.length > 0) {
    const context = kept.join(separator);
    const tokens = context.length > measure.maxCharacters ? Infinity : measure.tokens(`${context}\n\n`);
    if (tokens <= limit) return { context, tokens };
    kept = kept.length > 1 ? kept.slice(1) : firstHalf(firstOf(kept));
  }
  return { context: null, tokens: 0 };
}

function firstHalf(label: string): string[] {
  const characters = [...label];
  const half = characters
    .slice(0, characters.length >> 1)
    .join('')
    .trim();
  return half.length < shortestLabel ? [] : [half];
}
