/** One thing that is said, and by whom. */
export interface Turn {
  /** Null where nobody is named: the text of a document. */
  speaker: string | null;
  role: 'user' | 'assistant' | 'system' | 'tool' | null;
  text: string;
  /** Where it begins in the unit's text; null when it is not a piece of it. */
  start: number | null;
  /** When it was said; null: on the unit's date. */
  date: Date | null;
}

/** The text that an extractor reads at once: a document's text, or the turns of a conversation. */
export interface Unit {
  turns: readonly Turn[];
  /** The date that relative dates refer to. */
  date: Date;
  /** The caller's description of the container; may name the speaker. */
  entityContext: string | null;
  /** Who `I` is in turns without a speaker. Null: the user in what was told, and in everything else nobody. */
  author: string | null;
  trust: Trust;
  wants: readonly MemoryKind[];
  /** The document that it is, and its container: what an extractor that is paid for is charged to. Absent: unknown. */
  source?: { containerTag: string; documentId: string };
}

/** Facts have versions and make the profile; episodes are what somebody said, and when. */
export type MemoryKind = 'fact' | 'episode';
export type Category = 'fact' | 'preference' | 'event' | 'plan';
/** `told` to memory by a user or an application; `own`: written by the owner of a source; `read`: everything else. */
export type Trust = 'told' | 'own' | 'read';

/** A statement that stands by itself. */
export interface Candidate {
  text: string;
  kind: MemoryKind;
  category: Category;
  /** Whoever says it, as the source names them; null: nobody is named. */
  author: string | null;
  /** Whom or what it is about. */
  subject: string;
  /** The attribute of the subject, when it has only one value at a time: `home`, `employer`, … */
  slot: string | null;
  /** The answer; of two candidates with one slot and value, the later says nothing new. */
  value: string | null;
  /** It ends the value of its slot without naming another one. */
  ends: boolean;
  /** Of slots with several values at a time, the one whose place it takes; absent: it takes the place of any. */
  replaces?: string;
  /** It says itself that something changed: then the slot may be named with more or fewer words. */
  revises?: boolean;
  isStatic: boolean;
  isInference: boolean;
  /** ISO dates (days or months) that it names. */
  eventDates: string[];
  forgetAfter: Date | null;
  /** Where it stands in the document; null when unknown. */
  span: { start: number; end: number } | null;
  /** When it was said, if its turn tells; absent: on the unit's date. */
  saidAt?: Date | null;
  /**
   * Its effect on a stored memory, where the extractor was shown some. Only a hint: whoever writes memories
   * checks container, trust and versions. Absent: nothing is known.
   */
  relation?: Relation;
  /** Id of the extractor that found it, where that is another one than was asked. */
  extractor?: string;
}

export interface Relation {
  /** `updates` makes a new version of that memory, `extends` adds detail to it. */
  kind: 'updates' | 'extends';
  id: string;
}

/** Finds statements worth remembering. Implementations must not invent: each is in the unit, or follows from its date. */
export interface Extractor {
  /** Stored with each memory. */
  readonly id: string;
  extract(unit: Unit, signal: AbortSignal): Promise<Candidate[]>;
}
