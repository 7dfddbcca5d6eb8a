import { valueOf } from '../base/collections.ts';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Embedder } from '../models/embedder.ts';
import type { Bucket } from '../store/container-tags.ts';
import type { Queryable, Transaction } from '../store/database.ts';
import { finishDreaming, minedDocuments, type MinedDocument } from '../store/dreaming.ts';
import { allowStatements, forgottenStatements } from '../store/forgotten-statements.ts';
import { knownMemories } from '../store/known-memories.ts';
import { settleChains, sourceGone } from '../store/memory-versions.ts';
import {
  addRelations,
  addSources,
  forgetMemories,
  insertMemories,
  lockMemoriesOf,
  removeSources,
  restateMemories,
  reviveMemories,
  type MemoryWrite,
} from '../store/memories.ts';
import { classify, containerBuckets } from './buckets.ts';
import type { Candidate, Extractor, Trust, Turn, Unit } from './extractor.ts';
import { nameOf, isSamePerson } from './authors.ts';
import { indexTexts, type IndexedText, type Indexer } from './memory-rows.ts';
import { supersede, type Changes, type Mined } from './supersede.ts';
import { statementOf, type Statement } from './statement.ts';
import { wantedKinds } from './policy.ts';
import { turnsOfMessages } from './rules/turns.ts';

export interface RememberingOptions {
  extractor: Extractor;
  /** As `turnsOfText`, not in this thread: texts may be long. */
  turnsOf(text: string, signal: AbortSignal): Promise<Turn[]>;
  embedder: Embedder;
  index: Indexer;
  clock: Clock;
}

/** Statements of documents, before they are compared with known memories. */
export interface Findings {
  documents: readonly Pick<MinedDocument, 'id' | 'revision'>[];
  mined: readonly Mined[];
  /** By the statements' hashes. */
  indexed: ReadonlyMap<string, IndexedText>;
}

/** The text of a document that is not stored yet. */
export interface ReadText {
  id: string;
  revision: number;
  text: string;
  isTranscript: boolean;
  /** Stated in the text itself. */
  author: string | null;
  writtenAt: Date | null;
}

/** From documents to memories, in two steps: models work outside of transactions, comparing works inside. */
export interface Remembering {
  find(documents: readonly MinedDocument[], signal: AbortSignal): Promise<Findings>;
  /** The same for documents whose text is not stored yet. */
  findIn(database: Queryable, texts: readonly ReadText[], signal: AbortSignal): Promise<Findings>;
  /** Writes the memories of those documents that are done and still have the revision that was read. */
  store(tx: Transaction, findings: Findings): Promise<void>;
}

export function createRemembering(options: RememberingOptions): Remembering {
  async function find(documents: readonly MinedDocument[], signal: AbortSignal): Promise<Findings> {
    const mined: Mined[] = [];
    for (const document of documents) mined.push(await minedOf(options, document, signal));
    const texts = new Map(mined.flatMap(({ statements }) => statements.map(({ hash, text }) => [hash, text])));
    const indexed = await indexTexts([...texts.values()], { ...options, signal });
    return { documents, mined, indexed: new Map(indexed.map((one) => [one.contentHash, one])) };
  }

  return {
    find,
    async findIn(database, texts, signal) {
      const found = await minedDocuments(
        database,
        texts.map(({ id }) => id),
      );
      const given = new Map(texts.map((one) => [one.id, one]));
      return find(
        found.map((document) => withText(document, valueOf(given, document.id))),
        signal,
      );
    },
    async store(tx, findings) {
      const tags = await finishDreaming(tx, findings.documents);
      const mined = findings.mined.flatMap((one) => {
        const containerTag = tags.get(one.documentId);
        return containerTag === undefined ? [] : [{ ...one, containerTag }];
      });
      if (mined.length > 0) await remember(tx, mined, findings.indexed, options);
    },
  };
}

function withText(
  document: MinedDocument,
  { revision, text, isTranscript, author, writtenAt }: ReadText,
): MinedDocument {
  return {
    ...document,
    revision,
    isTranscript,
    author: document.author ?? author,
    date: writtenAt ?? document.date,
    // Pieces are found by their place in what was sent.
    ...(document.turns === null && { text }),
  };
}

async function minedOf(options: RememberingOptions, document: MinedDocument, signal: AbortSignal): Promise<Mined> {
  const { id: documentId, containerTag, date, metadata, filterByMetadata: filter } = document;
  const statements: Statement[] = [];
  const units = await unitsOf(document, (text) => options.turnsOf(text, signal));
  for (const one of units) statements.push(...(await statementsOf(options, one, signal)));
  return { documentId, containerTag, date, statements, metadata, filter };
}

async function statementsOf(
  { extractor, index }: RememberingOptions,
  { unit, author }: AuthoredUnit,
  signal: AbortSignal,
): Promise<Statement[]> {
  const candidates = await extractor.extract(unit, signal);
  const { trust, date } = unit;
  return candidates
    .filter((one) => unit.wants.includes(one.kind) && speaksRightly(one, trust))
    .map((one) => statementOf(one, { trust, date, author: fullAuthor(one, author) }, (text) => index(text).terms));
}

/** The user is whoever tells memory something: nothing else says what the user does, whatever finds it there. */
function speaksRightly({ text, subject }: Candidate, trust: Trust): boolean {
  return trust === 'told' || !/\bthe user\b/i.test(`${text} the ${subject}`);
}

/** Statements have the author's name; the source's way of writing it tells more. */
function fullAuthor({ author }: Candidate, full: string | null): string | null {
  return full !== null && (author === null || author === nameOf(full)) ? full : author;
}

async function remember(
  tx: Transaction,
  found: readonly Mined[],
  indexed: Findings['indexed'],
  options: RememberingOptions,
): Promise<void> {
  const now = options.clock.now();
  const containerTags = [...new Set(found.map((one) => one.containerTag))];
  await lockMemoriesOf(tx, containerTags);
  const mined = await withoutForgotten(tx, found, containerTags);
  const statements = mined.flatMap((one) => one.statements);
  const known = await knownMemories(tx, {
    containerTags,
    statements,
    documentIds: mined.map(({ documentId }) => documentId),
    ids: statements.flatMap(({ relation }) => (relation ? [relation.id] : [])),
    withMetadata: mined.some(({ filter }) => filter !== null),
  });
  const changes = supersede(known, mined, { makeId: () => newId(now), now });
  const buckets = changes.added.length === 0 ? () => [] : await containerBuckets(tx, containerTags);
  const rows = changes.added.map((one) => rowOf(one, indexed, buckets(one.known.containerTag), options));
  await write(tx, changes, rows, now);
}

/**
 * A forgotten statement stays forgotten, whichever source repeats it and in whatever words;
 * unless it is told again afterwards.
 */
async function withoutForgotten(
  tx: Transaction,
  mined: readonly Mined[],
  containerTags: readonly string[],
): Promise<readonly Mined[]> {
  const hashes = mined.flatMap(({ statements }) => statements.flatMap(hashesOf));
  const forgottenAt = await forgottenStatements(tx, containerTags, [...new Set(hashes)]);
  const left: Mined[] = [];
  for (const document of mined) {
    const { containerTag, statements } = document;
    const again: string[] = [];
    const said = statements.filter((statement) => {
      const forgotten = hashesOf(statement).flatMap((hash) => {
        const at = forgottenAt(containerTag, hash);
        return at === undefined ? [] : [{ hash, at }];
      });
      const isMeant = statement.trust === 'told' && forgotten.every(({ at }) => at < statement.said);
      if (isMeant) again.push(...forgotten.map(({ hash }) => hash));
      return forgotten.length === 0 || isMeant;
    });
    await allowStatements(tx, containerTag, again);
    left.push({ ...document, statements: said });
  }
  return left;
}

function hashesOf({ hash, slotHash }: Statement): string[] {
  return slotHash === null ? [hash] : [hash, slotHash];
}

function rowOf(
  { known, statement }: Changes['added'][number],
  indexed: Findings['indexed'],
  buckets: readonly Bucket[],
  { extractor, index }: RememberingOptions,
): MemoryWrite {
  const { eventDates, forgetAfter, isStatic, isInference } = statement;
  return {
    ...valueOf(indexed, statement.hash),
    id: known.id,
    containerTag: known.containerTag,
    memory: statement.text,
    metadata: null,
    temporalContext: {
      documentDate: known.saidAt.toISOString(),
      ...(eventDates.length > 0 && { eventDate: eventDates }),
    },
    kind: statement.kind,
    category: statement.category,
    author: statement.author,
    trust: statement.trust,
    saidAt: known.saidAt,
    subject: known.subject,
    slot: known.slot,
    slotValue: known.value,
    buckets: statement.kind === 'fact' ? classify(statement, buckets, (text) => index(text).terms) : [],
    isStatic,
    isInference,
    isLatest: known.isLatest,
    version: known.version,
    parentMemoryId: known.parentMemoryId,
    rootMemoryId: known.rootMemoryId,
    forgetAfter,
    forgetReason: null,
    extractor: statement.extractor ?? extractor.id,
  };
}

async function write(tx: Transaction, changes: Changes, rows: readonly MemoryWrite[], now: Date): Promise<void> {
  await insertMemories(tx, rows, now);
  await addSources(tx, uniqueSources(changes.sources), now);
  await removeSources(tx, changes.lostSources);
  await addRelations(tx, detailsOf(changes), now);
  await reviveMemories(tx, changes.revived, now);
  await restateMemories(
    tx,
    [...changes.restated].map(([id, saidAt]) => ({ id, saidAt })),
  );
  // One that the same change both revived and dropped is not said any more.
  await forgetMemories(tx, changes.forgotten, { by: 'source', reason: 'source changed' }, now);
  await forgetMemories(tx, changes.hidden, { by: 'source', reason: sourceGone }, now);
  await settleChains(tx, [...changes.chains], now);
}

/** One statement of a document may stand for several of its sentences. */
function uniqueSources(sources: Changes['sources']): Changes['sources'] {
  return [...new Map(sources.map((one) => [`${one.memoryId} ${one.documentId}`, one])).values()];
}

function detailsOf({ added }: Changes) {
  return added.flatMap(({ known, details }) =>
    details === null ? [] : [{ fromId: known.id, toId: details, relation: 'extends' as const }],
  );
}

/** A unit with its author as the source writes it; statements only have the name. */
interface AuthoredUnit {
  unit: Unit;
  author: string | null;
}

/** The parts of a document to mine for memories: none, all of it, or some of its pieces. */
async function unitsOf(document: MinedDocument, turnsOf: (text: string) => Promise<Turn[]>): Promise<AuthoredUnit[]> {
  const { id: documentId, containerTag, memories, isTranscript, taskType, entityContext } = document;
  const units: AuthoredUnit[] = [];
  for (const { author, trust, turns, text, date } of piecesOf(document)) {
    const wants = taskType === 'memory' ? wantedKinds(memories, { trust, isTranscript }) : [];
    if (wants.length === 0) continue;
    const name = author === null ? null : nameOf(author);
    const source = { containerTag, documentId };
    const read = (turns ?? (await turnsOf(text))).map((turn) => spokenBy(turn, name));
    units.push({ unit: { turns: read, date, entityContext, author: name, trust, wants, source }, author });
  }
  return units;
}

/** Where a text has no turns, its author is its speaker. */
function spokenBy(turn: Turn, author: string | null): Turn {
  return turn.speaker === null && turn.role === null ? { ...turn, speaker: author } : turn;
}

interface Piece extends Pick<Unit, 'date' | 'trust'> {
  author: string | null;
  /** Null: they are to be found in the text. */
  turns: Turn[] | null;
  text: string;
}

/** Each mail of a thread is a piece: it has its own author and date, and what one says does not run on in the next. */
function piecesOf(document: MinedDocument): Piece[] {
  const { text, turns, messages, date, author: stated, owner } = document;
  if (messages) return [{ turns: turnsOfMessages(messages, text), text, date, author: stated, trust: document.trust }];
  if (!turns) {
    const author = stated ?? owner.author;
    return [{ turns: null, text, date, author, trust: trustOf(document, { author, trust: document.trust }) }];
  }
  return turns.map(({ start, end, author, own, date: written }) => ({
    turns: [
      { speaker: author === null ? null : nameOf(author), role: null, text: text.slice(start, end), start, date: null },
    ],
    text: '',
    date: written === null ? date : new Date(written),
    author,
    trust: trustOf(document, { author, trust: own ? 'own' : 'read' }),
  }));
}

/** A connection whose sources are the owner's own vouches for all but what it or the item says somebody else wrote. */
function trustOf({ owner }: MinedDocument, { author, trust }: { author: string | null; trust: Trust }): Trust {
  if (trust !== 'read' || owner.trust !== 'own') return trust;
  const isElses = author !== null && owner.author !== null && !isSamePerson(author, owner.author);
  return isElses ? 'read' : 'own';
}
