import type { MemoryKind, Trust, Turn } from './extractor.ts';

/** Which content becomes a memory; null where a connection or container has no setting of its own. */
export type MemorySetting = 'off' | 'facts' | 'facts+episodes';

const kindsOf: Record<MemorySetting, readonly MemoryKind[]> = {
  off: [],
  facts: ['fact'],
  'facts+episodes': ['fact', 'episode'],
};

/** Where nothing is set, what people say makes memories, and what was only read does not: search finds its passages. */
export function wantedKinds(
  setting: MemorySetting | null,
  { trust, isTranscript }: { trust: Trust; isTranscript: boolean },
): readonly MemoryKind[] {
  return kindsOf[setting ?? (trust === 'read' && !isTranscript ? 'off' : 'facts+episodes')];
}

/** At least two people say something, and more than once: forms and records have labels, too. */
export function isTranscript(turns: readonly Turn[]): boolean {
  const times = new Map<string, number>();
  for (const { speaker, role } of turns) {
    const name = speaker ?? role;
    if (name !== null) times.set(name, (times.get(name) ?? 0) + 1);
  }
  return [...times.values()].filter((count) => count > 1).length >= 2;
}
