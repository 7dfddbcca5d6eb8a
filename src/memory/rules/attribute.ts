import type { Candidate, Category } from '../extractor.ts';

/** A statement about its subject in a form that can be compared with other statements. */
export interface Attribute {
  subject: string;
  slot: string;
  value: string;
  /** The value holds no longer, and no other one is named. */
  ends?: boolean;
  /** Of slots with several values at a time: the one that this one takes the place of. */
  replaces?: string;
  /** The statement itself says that something changed. */
  revises?: boolean;
  isStatic?: boolean;
  category?: Category;
}

/** Slots whose name is made of the words of a phrase; a phrase may be put shorter or longer. */
const phrased = /^(?:number|schedule|deadline|frequency|place|version|time):/;

/** Whether a statement is a newer answer to the question that an older one about the same subject answers. */
export function takesPlaceOf(
  newer: Pick<Candidate, 'slot' | 'value' | 'ends' | 'replaces' | 'revises'>,
  older: { slot: string | null; value: string | null },
): boolean {
  if (partsWith(newer, older)) return true;
  if (newer.slot === null || older.slot === null || !isSameSlot(older.slot, newer.slot, newer.revises)) return false;
  if (newer.ends) return older.value === newer.value;
  return newer.replaces === undefined || older.value === newer.replaces;
}

/** Things that somebody has one of, by their slots. */
const possession = /^attribute:(?:car|laptop|phone|computer)$/;

/** Selling the Skoda ends having the red Skoda Octavia for a car. */
function partsWith(
  newer: Pick<Candidate, 'slot' | 'value' | 'ends'>,
  older: { slot: string | null; value: string | null },
): boolean {
  if (!newer.ends || newer.slot !== 'uses' || newer.value === null || !possession.test(older.slot ?? '')) return false;
  const had = new Set(older.value?.split(' '));
  return newer.value.split(' ').every((word) => had.has(word));
}

/**
 * Whether two statements about one subject answer the same question. With `revises`, the newer one says that
 * something changed, and may leave out circumstances or name more of them; a name among these makes it another
 * thing.
 */
function isSameSlot(older: string, newer: string, revises = false): boolean {
  if (older === newer) return true;
  const kind = phrased.exec(newer)?.[0];
  if (kind === undefined || !older.startsWith(kind)) return false;
  const [olderUnit, olderThing] = unitAndThing(older.slice(kind.length));
  const [newerUnit, newerThing] = unitAndThing(newer.slice(kind.length));
  if (olderUnit !== newerUnit) return false;
  if (isSameSet([...olderThing.words, ...olderThing.around], [...newerThing.words, ...newerThing.around])) return true;
  if (!revises || !isSameSet(olderThing.words, newerThing.words)) return false;
  const [few, many] = [olderThing.around, newerThing.around].sort((left, right) => left.length - right.length) as [
    string[],
    string[],
  ];
  const more = many.filter((word) => !few.includes(word));
  return (
    few.length + olderThing.words.length >= 2 &&
    few.length + more.length === many.length &&
    more.every((word) => !/^\p{Lu}|\d/u.test(word))
  );
}

interface Thing {
  words: string[];
  around: string[];
}

function unitAndThing(slot: string): [string, Thing] {
  const colon = slot.indexOf(':');
  const all = slot.slice(colon + 1).split(' ');
  const around = all.filter((word) => word.startsWith('~')).map((word) => word.slice(1));
  return [slot.slice(0, Math.max(colon, 0)), { words: all.filter((word) => !word.startsWith('~')), around }];
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((word) => right.includes(word));
}
