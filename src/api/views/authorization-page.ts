import { createHash } from 'node:crypto';

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}h1{font-size:1.4rem}';

/** Browsers let only a window end that a page has opened, such as that of the console; others stay. */
const ending = 'close()';

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Headers of the page: it loads nothing, is shown in no frame, and tells nobody the address with the code in it. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(ending)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface AuthorizationPage {
  title: string;
  text: string;
  /** To go on by; its host is shown. */
  link?: string;
  /** Nothing is left to read: whoever opened a window for it says the rest. */
  ends?: boolean;
}

/** The page shown at the end of an authorization. */
export function authorizationPage({ title, text, link, ends = false }: AuthorizationPage): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<title>${escaped(title)}</title>`,
    `<style>${style}</style>`,
    `<h1>${escaped(title)}</h1>`,
    `<p>${escaped(text)}</p>`,
    ...(link === undefined
      ? []
      : [`<p><a rel="noreferrer" href="${escaped(link)}">Continue to ${escaped(new URL(link).host)}</a></p>`]),
    ...(ends ? [`<script>${ending}</script>`] : []),
    '</html>',
    '',
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
