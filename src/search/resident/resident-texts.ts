import type { Clock } from '../../base/clock.ts';
import { createGathering } from '../../base/concurrency.ts';
import type { Logger } from '../../base/log.ts';
import { createMemo } from '../../base/collections.ts';
import { languageCodes } from '../../engine/languages.ts';
import type { Embedder } from '../../models/embedder.ts';
import { isStatementError } from '../../store/database-errors.ts';
import type { Database } from '../../store/database.ts';
import type { SearchedKind } from '../../store/search/search-plan.ts';
import {
  mostResidentInAll,
  mostResidentTexts,
  readChangedTexts,
  readHolding,
  readSnapshot,
  readTextChanges,
  readTexts,
} from '../../store/search/text-rows.ts';
import { readLanguages } from '../../store/text-languages.ts';
import type { Scoped } from '../access.ts';
import { mostTogether } from '../ranking-constants.ts';
import type { Found } from '../score-candidates.ts';
import { createTextSet, type Asked, type AskedPattern, type TextSet } from './text-set.ts';

/**
 * Texts of the scopes that are searched again and again, with their terms and vectors, in this process. Before each
 * search it asks the database which texts have changed since (in one statement for all searches that wait), so that
 * a search sees what was committed before it began, whoever wrote it.
 */
export interface ResidentTexts {
  /** The texts of a scope as of this moment; null: the database must be searched. */
  upToDate(scope: Scoped): Promise<UpToDateTexts | null>;
  /** The database was searched, which had so many texts in the scope: from the second time on they are read. */
  note(scope: Scoped, items: number): void;
  /** Resolves when what is being read has been read. */
  settled(): Promise<void>;
}

export interface UpToDateTexts {
  /** Of the texts of the scope's containers, by ISO 639-1 code. */
  languages: readonly string[];
  candidates(asked: Asked): Promise<Omit<Found, 'plan'>>;
}

export interface ResidentOptions {
  database: Database;
  embedder: Pick<Embedder, 'id' | 'dimensions'>;
  clock: Clock;
  log: Logger;
  /** Texts of a kind in a scope at the most. Default 120,000 on PGlite, 20,000 in each process on PostgreSQL. */
  maxTexts?: number;
  /** Texts in all scopes together. Default 180,000 on PGlite, 60,000 on PostgreSQL. */
  maxTotal?: number;
}

/** A scope of which the texts are here, or on their way. */
interface Resident {
  set: TextSet;
  /** Brings the set up to this moment. Answers the languages of the containers; null: it can no longer be followed. */
  refresh(): Promise<readonly string[] | null>;
}

const pageSize = 500;
/** More changes than this are not worth following. */
const mostChanges = 2_000;
/** Changes are kept longer than this (see `deleteOldTextChanges`). */
const longestPauseMs = 60 * 60_000;
const askedAgainMs = 10 * 60_000;

export function createResidentTexts(options: ResidentOptions): ResidentTexts {
  const { engine } = options.database;
  const context = { maxTexts: mostResidentTexts[engine], maxTotal: mostResidentInAll[engine], ...options };
  const { database, clock, log, maxTexts, maxTotal } = context;
  const noted = createMemo<true>(clock, { maxEntries: 1_000, lifetimeMs: askedAgainMs });
  const residents = new Map<string, Resident>();
  const holding = { chunks: createHolding(database, 'chunks'), memories: createHolding(database, 'memories') };
  const loading = new Map<string, Promise<void>>();

  function remove(key: string, resident: Resident): void {
    if (residents.get(key) === resident) residents.delete(key);
  }

  /** The one that was searched last comes last. */
  function use(key: string, resident: Resident): void {
    residents.delete(key);
    residents.set(key, resident);
    let total = [...residents.values()].reduce((sum, { set }) => sum + set.size, 0);
    for (const [oldest, { set }] of residents) {
      if (total <= maxTotal || oldest === key) return;
      residents.delete(oldest);
      total -= set.size;
    }
  }

  async function load(key: string, scope: Scoped): Promise<void> {
    const resident = await readResident(scope, context);
    if (resident !== null) use(key, resident);
  }

  return {
    async upToDate(scope) {
      const key = keyOf(scope);
      const resident = key === null ? undefined : residents.get(key);
      if (key === null || resident === undefined) return null;
      const languages = await resident.refresh();
      if (languages === null) {
        remove(key, resident);
        return null;
      }
      use(key, resident);
      return { languages, candidates: (asked) => candidatesIn(resident.set, asked, holding[asked.kind]) };
    },
    note(scope, items) {
      const key = keyOf(scope);
      if (key === null || items > maxTexts || residents.has(key) || loading.has(key)) return;
      if (noted.get(key) === undefined) return noted.set(key, true);
      const done = load(key, scope)
        .catch((error: unknown) => log.warn({ err: error }, 'texts could not be read into memory'))
        .finally(() => loading.delete(key));
      loading.set(key, done);
    },
    settled: async () => void (await Promise.all(loading.values())),
  };
}

/** Of each pattern of a search, whether its text holds it; searches at the same time ask together. */
type Holding = (patterns: readonly AskedPattern[]) => Promise<boolean[]>;

function createHolding(database: Database, kind: SearchedKind): Holding {
  return createGathering({
    async run(searches) {
      const held = await readHolding(database, kind, searches.flat());
      let read = 0;
      return searches.map((patterns) => held.slice(read, (read += patterns.length)));
    },
    isOfOne: isStatementError,
    most: mostTogether,
  });
}

async function candidatesIn(set: TextSet, asked: Asked, holds: Holding): Promise<Omit<Found, 'plan'>> {
  const { corpus, candidates, patterns } = set.candidates(asked);
  if (patterns.length === 0) return { corpus, candidates };
  const held = await holds(patterns);
  const holding = new Set(patterns.filter((_, index) => held[index]).map(({ id }) => id));
  for (const one of candidates) one.holdsKeyword = holding.has(one.text.id);
  return { corpus, candidates };
}

/** Null: what is asked depends on more than the text. */
function keyOf({ kind, containerTags, forgottenToo, ...rest }: Scoped): string | null {
  const narrowed = [rest.namedTags, rest.filters, rest.filepath, rest.docId, rest.dates, rest.asOf].some(
    (one) => one !== undefined,
  );
  return narrowed || forgottenToo ? null : JSON.stringify([kind, containerTags?.toSorted()]);
}

type Reading = Pick<ResidentOptions, 'database' | 'embedder' | 'clock'> & { maxTexts: number };

/** Null when there are too many. What changes meanwhile is read by the first refresh. */
async function readResident(scope: Scoped, context: Reading): Promise<Resident | null> {
  const { database, embedder, clock, maxTexts } = context;
  const seen = seenIn(scope);
  const set = createTextSet(embedder.dimensions);
  const snapshot = await readSnapshot(database);
  for (let after = '', isLast = false; !isLast;) {
    const rows = await readTexts(database, seen, embedder.id, { after, limit: pageSize });
    for (const row of rows) set.add(row);
    if (set.size > maxTexts) return null;
    isLast = rows.length < pageSize;
    after = rows.at(-1)?.id ?? after;
  }
  const languages = await languagesIn(scope, database);
  const state = { seen, set, snapshot, languages, refreshedAtMs: clock.now().getTime() };
  const gathered = createGathering<void, readonly string[] | null>({
    async run(searches) {
      const isTrue = await refresh(state, context);
      return searches.map(() => (isTrue ? state.languages : null));
    },
    most: Infinity,
  });
  return { set, refresh: () => gathered() };
}

function seenIn({ kind, containerTags, forgottenToo, now }: Scoped): Scoped {
  return { kind, containerTags, forgottenToo, now };
}

/** How far a set of texts is true. */
interface Followed {
  seen: Scoped;
  set: TextSet;
  snapshot: string;
  /** Whoever notes one writes a text, too. */
  languages: readonly string[];
  refreshedAtMs: number;
}

function languagesIn({ containerTags }: Scoped, database: Database): Promise<string[]> {
  return readLanguages(database, containerTags, languageCodes);
}

async function refresh(followed: Followed, { database, embedder, clock, maxTexts }: Reading): Promise<boolean> {
  const { set, seen } = followed;
  const now = clock.now();
  if (set.isWorn || now.getTime() - followed.refreshedAtMs > longestPauseMs) return false;
  const { snapshot, areMore, documents, memories } = await readTextChanges(database, followed.snapshot, mostChanges);
  if (areMore) return false;
  if (documents.length > 0 || memories.length > 0) {
    const rows = await readChangedTexts(database, { ...seen, now }, embedder.id, { documents, memories });
    set.remove([...memories, ...rows.map(({ id }) => id)], documents);
    for (const row of rows) set.add(row);
    followed.languages = await languagesIn(seen, database);
  }
  followed.snapshot = snapshot;
  followed.refreshedAtMs = now.getTime();
  return set.size <= maxTexts;
}
