/** GitHub shows some changes late, and its machines disagree about the time. */
const overlapMs = 10 * 60_000;
/** Entries of the overlap that are remembered; more than these are read again instead. */
const mostSeen = 500;

/** By their numbers, what was shown of the entries that the next reading shows again. */
export type Seen = Record<string, string>;

/** The time of what has no entries yet. */
export const beginning = '1970-01-01T00:00:00Z';

/** Where the next reading begins when the newest entry so far has this time. */
export const sinceOf = (newest: string) => (newest === beginning ? beginning : isoOf(Date.parse(newest) - overlapMs));

/** Whole seconds, as GitHub writes times. */
export const isoOf = (time: number) => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');

export const bounded = (seen: Seen): Seen => Object.fromEntries(Object.entries(seen).slice(0, mostSeen));
