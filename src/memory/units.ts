import type { MinedDocument } from '../store/dreaming.ts';
import { isSamePerson, nameOf } from './authors.ts';
import type { Trust, Turn, Unit } from './extractor.ts';
import { wantedKinds } from './policy.ts';
import { turnsOfMessages } from './rules/turns.ts';

/** What is read at once, with the author as the source writes it: statements only have the name. */
export interface AuthoredUnit {
  unit: Unit;
  author: string | null;
}

/** What of a document is looked through for memories: nothing, all of it, or some of its pieces. */
export async function unitsOf(
  document: MinedDocument,
  turnsOf: (text: string) => Promise<Turn[]>,
): Promise<AuthoredUnit[]> {
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
