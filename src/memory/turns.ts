import type { Turn } from './extractor.ts';

/** `Name: text` or `role (Name): text` at the beginning of a line. */
const speakerLine =
  /^(?<label>\p{Lu}[\p{L}\p{M}'’.-]*(?: \p{Lu}[\p{L}\p{M}'’.-]*){0,2}|user|assistant|system|tool)(?: \((?<name>[^)\n]{1,60})\))?: (?=\S)/gmu;

const roles = ['user', 'assistant', 'system', 'tool'] as const;
type Role = (typeof roles)[number];

/** A message of a stored conversation; only what is read here. */
export interface SaidMessage {
  role: Role;
  text: string;
  name?: string;
}

export function turnsOfMessages(messages: readonly SaidMessage[]): Turn[] {
  return messages.map(({ role, text, name }) => ({ speaker: name ?? null, role, text, start: null }));
}

/**
 * The turns of a transcript, when a text is one: at least two lines begin with a name or role, and
 * one of these names comes twice or all of the text is such lines. Else the text as one turn of nobody.
 */
export function turnsOfText(text: string): Turn[] {
  const lines = [...text.matchAll(speakerLine)];
  if (!isTranscript(text, lines)) return [{ speaker: null, role: null, text, start: 0 }];
  return lines.map((line, index) => {
    const start = line.index + line[0].length;
    const end = lines[index + 1]?.index ?? text.length;
    const label = line.groups!['label']!;
    const role = roleOf(label);
    return { speaker: line.groups!['name'] ?? (role ? null : label), role, text: text.slice(start, end), start };
  });
}

function isTranscript(text: string, lines: readonly RegExpExecArray[]): boolean {
  if (lines.length < 2 || lines[0]!.index > 0) return lines.length === 1 && lines[0]!.index === 0 && isRole(lines[0]!);
  const labels = lines.map((line) => line.groups!['label']!);
  const repeats = new Set(labels).size < labels.length;
  const onlyRoles = labels.every((label) => roleOf(label) !== null);
  return repeats || onlyRoles || lines.length === text.split('\n').filter((line) => line.trim() !== '').length;
}

function isRole(line: RegExpExecArray): boolean {
  return roleOf(line.groups!['label']!) !== null;
}

function roleOf(label: string): Role | null {
  return roles.find((role) => role === label.toLowerCase()) ?? null;
}
