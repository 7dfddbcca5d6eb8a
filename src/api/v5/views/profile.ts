interface Line {
  memory: string;
}

/** The profile as text: a heading for each section, a list item for each line. */
export function profileAsMarkdown(profile: {
  static: readonly Line[];
  dynamic: readonly Line[];
  buckets: Record<string, readonly Line[]>;
}): string {
  const sections = [
    section('Static', profile.static),
    section('Dynamic', profile.dynamic),
    ...Object.entries(profile.buckets).map(([key, lines]) => section(key, lines)),
  ];
  return `${sections.join('\n\n')}\n`;
}

function section(title: string, lines: readonly Line[]): string {
  const items = lines.map(({ memory }) => `- ${memory.replaceAll(/\s+/g, ' ')}`);
  return [`## ${title}`, ...(items.length === 0 ? [] : ['', ...items])].join('\n');
}
