import { present } from '../../base/collections.ts';
import type { Metadata } from '../document.ts';
import { parseHtml, type DomDocument, type DomElement, isTooDeep } from './dom.ts';
import { isoDate } from './plain.ts';
import type { Extracted } from './extracted.ts';

type Page = Omit<Extracted, 'type' | 'format'>;

/** Never text of the page. */
const invisible =
  'script, style, noscript, template, iframe, object, embed, canvas, svg, link, meta, select, textarea, input, dialog, ' +
  '[hidden], [style*="display:none"], [style*="display: none"]';
/** Around the text of a page. */
const surroundings = 'nav, button, body > footer, [role=navigation], [role=search], [role=contentinfo]';
/** Beside the text, when there is no telling which of it is the article. */
const asides = 'aside, footer, [role=banner], [role=complementary]';
/** An article with less of the page's text than this has lost too much of it. */
const leastShare = 0.2;
const leastArticle = 200;
/** Finding the article walks a page many times; one with more elements is taken whole. */
const maxElements = 30_000;

export interface HtmlOptions {
  url?: string | undefined;
  /** Look for the article between navigation and the like; else everything visible is taken. */
  page?: boolean | undefined;
}

/** HTML as Markdown; of a page, with its title as the first heading. */
export async function htmlText(html: string, options: HtmlOptions): Promise<Page> {
  if (isTooDeep(html, 'html')) return tooDeep(html);
  const document = await parseHtml(html);
  const head = readHead(document, options.url);
  removeAll(document, invisible);
  const heading = onlyHeading(document);
  try {
    const article = options.page ? await findArticle(document) : null;
    const title = properTitle(article?.title ?? head.title, heading);
    const body = article?.content ?? document.querySelector('body') ?? document.documentElement!;
    const markdown = await writeMarkdown(body, options.url);
    const text = options.page ? withTitle(markdown, title) : markdown;
    const author = article?.author ?? head.metadata.author;
    return {
      text,
      title: title ?? firstHeading(markdown),
      metadata: { ...head.metadata, ...present({ author: author || undefined }) },
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return tooDeep(html);
  }
}

function tooDeep(html: string): Page {
  return {
    text: bareText(html),
    title: null,
    degraded: ['The page is nested too deeply; only its bare text was taken.'],
  };
}

function removeAll(document: DomDocument, selector: string): void {
  for (const element of [...document.querySelectorAll(selector)]) element.remove();
}

async function writeMarkdown(element: DomElement, url: string | undefined): Promise<string> {
  const { createMarkdownWriter } = await import('./markdown-writer.ts');
  return createMarkdownWriter(url)(element);
}

function readHead(document: DomDocument, url: string | undefined): { title: string | null; metadata: Metadata } {
  const meta = (names: string[]) =>
    names
      .map((name) => document.querySelector(`meta[name="${name}"], meta[property="${name}"]`)?.getAttribute('content'))
      .find((content) => content?.trim());
  const title = document.querySelector('title')?.textContent?.trim() || meta(['og:title']);
  const date = isoDate(meta(['article:published_time', 'date', 'dcterms.date']) ?? '');
  const fields = {
    author: meta(['author', 'article:author']),
    date,
    description: meta(['description', 'og:description']),
    siteName: meta(['og:site_name']),
    image: webAddress(meta(['og:image', 'og:image:url', 'twitter:image']), url),
    language: document.documentElement?.getAttribute('lang'),
  };
  document.querySelector('title')?.remove();
  const known = Object.entries(fields).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return { title: title ?? null, metadata: Object.fromEntries(known) };
}

/** Pages name their picture with a whole address, or with its path. */
function webAddress(text: string | null | undefined, url: string | undefined): string | undefined {
  const address = text?.trim();
  if (!address || !URL.canParse(address, url)) return undefined;
  const parsed = new URL(address, url);
  return /^https?:$/.test(parsed.protocol) ? parsed.href : undefined;
}

interface Article {
  title: string | null;
  author: string | null;
  content: DomElement;
}

/** The article as Readability finds it, or the page without its surroundings when that is too little. */
async function findArticle(document: DomDocument): Promise<Article | null> {
  const { Readability } = await import('@mozilla/readability');
  removeAll(document, surroundings);
  if ([...document.querySelectorAll('*')].length > maxElements) {
    removeAll(document, asides);
    return null;
  }
  const copy = document.cloneNode(true);
  removeAll(document, asides);
  const whole = visibleLength(document.querySelector('body') ?? document.documentElement);
  const options = { serializer: (node: unknown) => node as DomElement };
  const article = new Readability<DomElement>(copy, options).parse();
  const length = visibleLength(article?.content ?? null);
  if (!article?.content || length < leastArticle || length < whole * leastShare) return null;
  return { title: article.title || null, author: article.byline || null, content: article.content };
}

function visibleLength(element: DomElement | null): number {
  return (element?.textContent ?? '').replace(/\s+/g, ' ').length;
}

/** The text of the page's `h1`, when there is exactly one. */
function onlyHeading(document: DomDocument): string | null {
  const [heading, another] = [...document.querySelectorAll('h1')];
  return another ? null : heading?.textContent?.replace(/\s+/g, ' ').trim() || null;
}

/** The name of a page often has that of its site before or behind it: its heading does not. */
function properTitle(title: string | null, heading: string | null): string | null {
  return heading !== null && (title === null || title.includes(heading)) ? heading : title;
}

/** The title stands as the first heading; Readability makes an `h2` of it, or takes it out. */
function withTitle(markdown: string, title: string | null): string {
  if (title === null) return markdown;
  const line = title.replace(/\s+/g, ' ');
  const [first = ''] = markdown.split('\n', 1);
  if (/^#{1,6} /.test(first) && first.replace(/^#+ /, '') === line) return `# ${line}${markdown.slice(first.length)}`;
  return first.startsWith('# ') ? markdown : `# ${line}\n\n${markdown}`;
}

function firstHeading(markdown: string): string | null {
  return /^#{1,2} (.+)$/m.exec(markdown)?.[1] ?? null;
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** Text between tags, for pages that no parser's stack can walk. */
function bareText(html: string): string {
  return html
    .replace(/<(script|style)\b[^]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/<[a-z/!?][^>]*(?:>|$)/gi, '\n')
    .replace(/&(?:#(\d{1,6})|(\w{2,6}));/g, (whole, code: string | undefined, name: string | undefined) =>
      code === undefined ? (entities[name!] ?? whole) : String.fromCodePoint(Math.min(Number(code), 0x10ffff)),
    )
    .replace(/(?<![ \t])[ \t]*\n\s*/g, '\n')
    .trim();
}
