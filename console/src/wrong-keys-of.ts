/** What the security log says of keys that nobody has. */
export interface WrongKeys {
  count: number;
  addresses: string[];
}

interface Refusal {
  /** As ISO 8601. */
  at: string;
  count: number;
  address: string | null;
}

const dayMs = 86_400_000;

/** Of the last day, and after what somebody looked at. */
export function wrongKeysOf(
  events: readonly Refusal[],
  { now, seenUntil }: { now: Date; seenUntil: string },
): WrongKeys {
  const recent = events.filter(({ at }) => at > seenUntil && Date.parse(at) > now.getTime() - dayMs);
  return {
    count: recent.reduce((sum, { count }) => sum + count, 0),
    addresses: [...new Set(recent.flatMap(({ address }) => address ?? []))],
  };
}
