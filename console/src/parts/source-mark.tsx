/** Marks of the sources, drawn for this page in one stroke width; they are no logos of anybody. */
const drawings: Readonly<Record<string, string>> = {
  folder: 'M2.5 6.5v11a2 2 0 0 0 2 2h15a2 2 0 0 0 2-2V9a2 2 0 0 0-2-2h-7.6L9.6 4.5H4.5a2 2 0 0 0-2 2Z',
  github: 'M6 5.5a2 2 0 1 0 0 .1M6 18.5a2 2 0 1 0 0 .1M18 5.5a2 2 0 1 0 0 .1M6 7.5v9M18 7.5c0 5-12 3-12 8',
  gmail: 'M3 19V6.5L12 13l9-6.5V19M3 6.5V5h3l6 4.5L18 5h3v1.5',
  'google-drive': 'M9 3.5h6l6.5 11.5-3 5.5h-13l-3-5.5L9 3.5Zm0 0 6.5 11.5H2.500M15 3.5 8 15l-2.5 5.5',
  imap: 'M2.5 6.500a1.5 1.5 0 0 1 1.5-1.500h16a1.5 1.5 0 0 1 1.5 1.500v11a1.5 1.5 0 0 1-1.5 1.500H4a1.5 1.5 0 0 1-1.5-1.500v-11ZM3 7l9 6.500L21 7',
  notion: 'M4.5 4.500h15v15h-15v-15ZM9 15.500v-7l6 7v-7',
  push: 'M12 15.500v-11M7.5 9 12 4.5 16.5 9M3.5 15v4.500h17V15',
};
const other = 'M12 3.5 20 8v8l-8 4.500L4 16V8l8-4.500ZM4 8l8 4.500L20 8M12 12.500v8';

export function SourceMark({ provider }: { provider: string }) {
  return (
    <svg class="mark-icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path
        d={drawings[provider] ?? other}
        fill="none"
        stroke="currentColor"
        stroke-width="1.6"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export function ProductMark() {
  return (
    <svg width="22" height="22" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <rect x="1" y="1" width="14" height="14" rx="4" fill="currentColor" />
      <path
        d="M4.5 11.500v-7l3.5 4 3.5-4v7"
        fill="none"
        stroke="var(--ground)"
        stroke-width="1.6"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
