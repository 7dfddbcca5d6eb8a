import { paint, type Screen } from './context.ts';

export interface Introduction {
  version: string;
  role: 'all' | 'api' | 'worker' | 'scheduler';
  url: string;
  /** The key that this start generated; null at every later start. */
  firstKey: string | null;
  /** The one that is used when none is named. */
  namespace: string;
  /** Opens the console, once; null where nobody looks, and where no API is. */
  consoleLink: string | null;
  /** Where everything is kept, in words. */
  storage: string;
  screen: Screen;
}

/** What a start prints: where it runs, the key when it is new, and what to do next. */
export function welcome(introduction: Introduction): string[] {
  const { version, role, url, storage, screen } = introduction;
  if (role === 'worker' || role === 'scheduler') {
    return [`${paint(screen, 'bold', `memoryd ${version}`)} runs as ${role}. Data: ${storage}`];
  }
  return [
    `${paint(screen, 'bold', `memoryd ${version}`)} runs at ${paint(screen, 'cyan', url)}`,
    `Data: ${storage}`,
    '',
    ...console(introduction),
    ...(introduction.firstKey === null ? [] : newKey(introduction.firstKey, introduction)),
    '',
    'Press Ctrl-C to stop.',
  ];
}

function console({ consoleLink, screen }: Introduction): string[] {
  if (consoleLink === null) return ['The console, in a browser: `memoryd console` prints a link that signs in.'];
  return [
    'The console, in a browser (signs in once, within five minutes; `memoryd open` does it again):',
    `  ${paint(screen, 'cyan', consoleLink)}`,
  ];
}

function newKey(key: string, { url, namespace, screen }: Introduction): string[] {
  const dim = (text: string) => paint(screen, 'dim', text);
  return [
    '',
    'API key (shown only this once, keep it):',
    `  ${paint(screen, 'bold', key)}`,
    '',
    'Next, in another terminal:',
    dim('  # mirror a folder and search it; no key needed on this machine'),
    '  npx memoryd connect folder ./notes',
    '  npx memoryd search "what did we decide?"',
    dim('  # or by HTTP'),
    `  curl ${url}/ns/${encodeURIComponent(namespace)}/search -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' -d '{"query":"what did we decide?"}'`,
    dim('  # or from your program: npm install supermemory'),
    `  new Supermemory({ baseURL: '${url}', apiKey: '${key}' })`,
  ];
}
