/** One thing that is said, and by whom. */
export interface Turn {
  /** Null where nobody is named: the text of a document. */
  speaker: string | null;
  role: 'user' | 'assistant' | 'system' | 'tool' | null;
  text: string;
  /** Where it begins in the unit's text; null when it is not a piece of it. */
  start: number | null;
}

/** What an extractor reads at once: a document's text, or the turns of a conversation. */
export interface Unit {
  turns: readonly Turn[];
  /** What relative dates refer to. */
  date: Date;
  /** What the caller says about the container; may name the person that speaks. */
  entityContext: string | null;
}

export type MemoryKind = 'fact' | 'preference' | 'event' | 'plan';

/** A statement that stands by itself. */
export interface Candidate {
  text: string;
  kind: MemoryKind;
  /** Whom or what it is about. */
  subject: string;
  /** What of the subject it says, when there can be only one answer at a time: `home`, `employer`, … */
  slot: string | null;
  /** The answer; of two candidates with one slot and value, the later says nothing new. */
  value: string | null;
  /** It ends the value of its slot without naming another one. */
  ends: boolean;
  isStatic: boolean;
  isInference: boolean;
  /** ISO dates (days or months) that it names. */
  eventDates: string[];
  forgetAfter: Date | null;
  /** Where it stands in the document; null when unknown. */
  span: { start: number; end: number } | null;
}

/** Finds statements worth remembering. Implementations must not invent: each is in the unit, or follows from its date. */
export interface Extractor {
  /** Stored with each memory. */
  readonly id: string;
  extract(unit: Unit, signal: AbortSignal): Promise<Candidate[]>;
}
