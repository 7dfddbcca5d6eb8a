import type { Fetched, FetchedDocument, MetadataValue, Ref } from 'memoryd/connector';
import { readAttachments } from './attachments.ts';
import type { NotionContext } from './client.ts';
import { readComments } from './comments.ts';
import { readText } from './markdown.ts';
import { nameOf, withNames } from './names.ts';
import { wantsOf, type Wants } from './page-ref.ts';
import { readPage } from './page.ts';
import { readProperties } from './properties.ts';
import { titleOf } from './shown.ts';
import { withoutSignatures } from './presigned-urls.ts';

interface Known {
  values: Record<string, MetadataValue>;
  wants: Wants;
  title?: string;
}

/** One request for most pages: what else there is to know of them came with the list. */
export async function fetchPage(ctx: NotionContext, ref: Ref): Promise<Fetched> {
  const known = knownOf(ref) ?? (await readKnown(ctx, ref.id));
  if (known === null) return { gone: true };
  const { markdown, missing, pages } = await readText(ctx, ref.id);
  const attachments = await readAttachments(ctx, markdown);
  const comments = ctx.config.comments === true ? await readComments(ctx, ref.id) : [];
  const values = await withNames(ctx, ref.id, known);
  const text = textOf(values, withoutSignatures(markdown), missing);
  if (text === '' && attachments.length + comments.length === 0) {
    return { skip: 'empty', detail: 'The page has a title and nothing else.' };
  }
  const title = known.title ?? ref.title ?? '';
  const facts = await factsOf(ctx, known, values);
  return { title, ...facts, ...bodyOf(text, [...attachments, ...comments]), leadsTo: pages };
}

function bodyOf(text: string, more: FetchedDocument[]): FetchedDocument {
  if (more.length === 0) return { markdown: text };
  return { parts: [...(text === '' ? [] : [{ markdown: text }]), ...more] };
}

/** The properties from the list; undefined when they were too long to keep. */
function knownOf({ locator, metadata }: Ref): Known | undefined {
  if (locator === undefined || locator['isLong'] === true) return undefined;
  return { values: metadata ?? {}, wants: locator as unknown as Wants };
}

async function readKnown(ctx: NotionContext, id: string): Promise<Known | null> {
  const page = await readPage(ctx, id);
  if (!page) return null;
  const properties = readProperties(page);
  return { values: properties.values, wants: wantsOf(page, properties), title: titleOf(page) };
}

async function factsOf(
  ctx: NotionContext,
  { wants }: Known,
  values: Record<string, MetadataValue>,
): Promise<FetchedDocument> {
  const { createdBy, editedBy, createdAt, source } = wants;
  const writer = await nameOf(ctx, createdBy);
  // A page that others have edited does not say whose words stands where.
  const author = createdBy === editedBy ? writer : undefined;
  return {
    createdAt,
    ...(author === undefined ? {} : { author }),
    metadata: {
      ...(source === undefined ? {} : { dataSource: source }),
      ...(writer === undefined ? {} : { createdBy: writer }),
      ...values,
    },
  };
}

function textOf(values: Record<string, MetadataValue>, markdown: string, missing: number): string {
  const note = missing > 0 ? `\n\n*${missing} parts of this page are not shown to the integration.*` : '';
  const body = `${markdown.trim()}${note}`.trim();
  const lines = Object.entries(values)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${oneLine(name)}: ${shown(value)}`);
  if (lines.length === 0) return body;
  return ['---', ...lines, '---', '', body].join('\n').trim();
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll(':', '').trim();

function shown(value: MetadataValue): string {
  if (Array.isArray(value)) return value.map(oneEntry).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? oneEntry(value) : String(value);
}

const oneEntry = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
