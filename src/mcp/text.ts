import type { Profile } from '../memory/profiles.ts';

/** A section of Markdown; nothing when it has no lines. */
export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`## ${title}\n${lines.map((line) => `- ${line}`).join('\n')}`];
}

/** Sections with a line between them, or what to say when there are none. */
export function joined(sections: readonly string[], nothing: string): string {
  return sections.length === 0 ? nothing : sections.join('\n\n');
}

/** The facts of a profile: those that stay, then recent ones. */
export function profileLines({ static: lasting = [], dynamic = [] }: Profile): string[] {
  return [...lasting, ...dynamic];
}

export function percent(similarity: number): string {
  return `${Math.round(similarity * 100)}%`;
}
