import { present } from '../../base/collections.ts';
import { posix } from 'node:path';
import { hash } from 'node:crypto';
import { parentPort, type MessagePort } from 'node:worker_threads';
import { stepBack } from '../../base/concurrency.ts';
import { MemorydError, type ErrorCode } from '../../base/errors.ts';
import { rules } from '../../memory/rules/extract.ts';
import type { Turn, Unit } from '../../memory/extractor.ts';
import { isTranscript } from '../../memory/policy.ts';
import { conversationOf, turnsOfText } from '../../memory/rules/turns.ts';
import type { TokenCounting } from '../../models/embedder.ts';
import { createTokenCounter } from '../../models/token-counting.ts';
import { chunk, type ChunkDraft, withContext, chunkTurns, type TurnPlace } from '../chunk/chunk.ts';
import { convert } from '../extract/convert.ts';
import {
  type Extracted,
  type ExtractInput,
  defaultMaxTextBytes,
  type Pictures,
  type Source,
  type SourceFormat,
  checkSize,
} from '../extract/extracted.ts';
import { languagesOfText, packTerms, terms, type PackedTerms } from '../terms.ts';
import type { Language } from '../languages.ts';
import { detect, isHtmlPage } from '../extract/detect.ts';

/** How a text is to be cut. */
export interface Cutting {
  maxTokens: number;
  overlapTokens: number;
  /** How the embedder counts. */
  tokens: TokenCounting;
  /** Goes before the title that the content gives itself, unless it is only the name of the file. */
  title: string | null;
  /** Of a file: its name with some of its folders, `trips/lisbon/hotel.pdf`, by which it is found too. */
  place: string | null;
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
  extract,
  async prepare({ input, cutting }: { input: ExtractInput; cutting: Cutting }): Promise<CutDocument> {
    return cut(await extract(input), cutting);
  },
  turns: ({ text }: { text: string }) => turnsOfText(text),
  statements: (unit: Unit) => rules.extract(unit),
};

export type Tasks = typeof tasks;
export type TaskName = keyof Tasks;

async function extract(input: ExtractInput): Promise<Extracted> {
  const source = toSource(input);
  if (input.pictures === undefined) return convert(source);
  const pictures: Pictures = { texts: input.pictures, met: [] };
  const extracted = await convert({ ...source, pictures });
  const unread = pictures.met.slice(pictures.texts.length);
  return unread.length === 0 ? extracted : { ...extracted, pictures: unread };
}

function cut(extracted: Extracted, { maxTokens, overlapTokens, tokens, ...cutting }: Cutting): CutDocument {
  const { text, format } = extracted;
  const place = cutting.place ?? undefined;
  const isFileName = place !== undefined && cutting.title === posix.basename(place);
  const title = (isFileName ? null : cutting.title) ?? extracted.title ?? undefined;
  const countTokens = createTokenCounter(tokens);
  const options = { format, maxTokens, overlapTokens, countTokens, title, place };
  const turns = conversationOf(text, format === 'conversation');
  const languages = languagesOfText(text);
  const drafts = turns ? chunkTurns(text, turns.map(placeOf), options) : chunk(text, options);
  return {
    ...{ extracted, textHash: hash('sha256', text, 'base64'), isTranscript: turns !== null && isTranscript(turns) },
    chunks: drafts.map((draft) => toCutChunk(draft, languages)),
  };
}

function toCutChunk(draft: ChunkDraft, languages: readonly Language[]): CutChunk {
  const whole = withContext(draft.context, draft.content);
  const isFollowing = draft.type !== 'text' && draft.position > 0;
  const key = draft.type === 'text' ? whole : `${draft.type} ${whole}`;
  const indexed = terms(isFollowing ? draft.content : whole, languages);
  return { ...draft, hash: hash('sha256', key, 'base64'), ...packTerms(indexed) };
}

function placeOf({ start, text, role }: Turn): TurnPlace {
  return { start: start!, length: text.length, isMachine: role !== null && role !== 'user' };
}

/** Detects the content's format; see `detect`, which throws for files that hold no text. */
export function toSource(input: ExtractInput): Source {
  const maxTextBytes = input.maxTextBytes ?? defaultMaxTextBytes;
  const common = { maxTextBytes, depth: 0, ...present({ url: input.url }) };
  if (input.kind === 'file') {
    const name = input.name === undefined ? {} : { name: input.name };
    return { ...common, ...name, ...detect(input.bytes, input.mimeType, input.name), bytes: input.bytes, page: true };
  }
  if (input.kind !== 'html') checkSize(Buffer.byteLength(input.text), maxTextBytes);
  const format: SourceFormat = input.kind === 'text' && isHtmlPage(input.text) ? 'html' : input.kind;
  // A fragment is what a source takes for the content; a page has more around it.
  return { ...common, format, text: input.text, page: format === 'html' && isHtmlPage(input.text) };
}

/** A request to a thread; `input` is the task's own. */
export interface Question {
  task: TaskName;
  input: unknown;
}

/** A thread's answer to one question. */
export type ThreadAnswer = { result: unknown } | { failure: { code: ErrorCode; message: string; cause?: string } };

/** First that everything is loaded, so that loading does not count as work; then answers, in the order of the questions. */
export type Message = 'ready' | ThreadAnswer[];

// Null where the tasks are done without a thread, as tests do.
if (parentPort) answerOn(parentPort);

function answerOn(port: MessagePort): void {
  stepBack();
  port.on('message', (questions: readonly Question[]) => {
    void answerAll(questions).then((answers) => port.postMessage(answers));
  });
  port.postMessage('ready' satisfies Message);
}

/** One after the other: the thread has one processor, and few results are held at a time. */
async function answerAll(questions: readonly Question[]): Promise<ThreadAnswer[]> {
  const answers: ThreadAnswer[] = [];
  for (const question of questions) answers.push(await answer(question));
  return answers;
}

async function answer({ task, input }: Question): Promise<ThreadAnswer> {
  try {
    return { result: await (tasks[task] as (input: unknown) => unknown)(input) };
  } catch (error) {
    const code = MemorydError.is(error) ? error.code : 'extract_failed';
    const message = MemorydError.is(error) ? error.message : 'The content cannot be read.';
    // The cause is for the log of the daemon; parsers put no content into their messages.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : undefined;
    return { failure: { code, message, ...present({ cause }) } };
  }
}
