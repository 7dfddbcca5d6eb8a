import { markdownTable } from './csv.ts';
import { failed, type Extracted } from './extracted.ts';
import { propertiesOf, readXmlEvents } from './office-xml.ts';
import { openParts, relationsOf, type Parts } from './parts.ts';

type Page = Omit<Extracted, 'type'>;

/**
 * A PowerPoint presentation (ECMA-376): each slide under its title, with what describes its pictures, the numbers of its
 * charts and the speaker's notes. Throws `extract_failed`.
 */
export function presentationText(bytes: Uint8Array): Page {
  const parts = openParts(bytes, 'PowerPoint presentation');
  const texts = slideNames(parts).map((name, index) => slideText(parts, name, index + 1));
  const { title, metadata } = propertiesOf(parts);
  return {
    ...{ text: texts.join('\n\n'), format: 'markdown', title: title ?? null },
    metadata: { ...metadata, pages: texts.length },
  };
}

/** In the order in which they are shown. */
function slideNames(parts: Parts): string[] {
  const xml = parts.text('ppt/presentation.xml');
  if (xml === null) throw failed('The PowerPoint presentation is damaged: it has no list of slides.');
  const relations = relationsOf(parts, 'ppt/presentation.xml');
  const names: string[] = [];
  readXmlEvents(xml, {
    open(name, attributes) {
      const target = name === 'p:sldId' ? relations.get(attributes['r:id'] ?? '') : undefined;
      if (target !== undefined) names.push(target);
    },
  });
  return names;
}

function slideText(parts: Parts, name: string, number: number): string {
  const shapes = shapesOf(parts.text(name) ?? '');
  const title = shapes.find(({ role }) => role === 'title' || role === 'ctrTitle');
  const heading = `## ${title?.text.replaceAll('\n', ' ') || `Slide ${number}`}`;
  const body = shapes.filter((one) => one !== title && !isFurniture(one)).map(({ text }) => text);
  const charts = [...relationsOf(parts, name).values()].filter((one) => one.includes('/charts/chart'));
  const notes = notesText(parts, name);
  return [
    heading,
    ...body,
    ...charts.map((chart) => chartText(parts.text(chart) ?? '')),
    notes === '' ? '' : `Notes: ${notes}`,
  ]
    .filter(Boolean)
    .join('\n\n');
}

function notesText(parts: Parts, slide: string): string {
  const target = [...relationsOf(parts, slide).values()].find((one) => one.includes('/notesSlides/'));
  const shapes = shapesOf((target && parts.text(target)) || '');
  return shapes
    .filter(({ role }) => role === 'body')
    .map(({ text }) => text)
    .join('\n');
}

interface Shape {
  /** Of its placeholder: `title`, `body`, `sldNum`, …; empty for others. */
  role: string;
  text: string;
}

function isFurniture({ role }: Shape): boolean {
  return role === 'sldNum' || role === 'ftr' || role === 'dt';
}

/** The shapes of a slide in their order: text boxes as paragraphs, tables as Markdown, of pictures what describes them. */
function shapesOf(xml: string): Shape[] {
  const shapes: Shape[] = [];
  let role = '';
  let paragraphs: string[] = [];
  let paragraph = '';
  let rows: string[][] | null = null;
  let isText = false;
  let isPicture = false;
  readXmlEvents(xml, {
    open(name, attributes) {
      if (name === 'p:sp') [role, paragraphs] = ['', []];
      if (name === 'p:pic') isPicture = true;
      if (name === 'p:cNvPr' && isPicture) shapes.push({ role: '', text: attributes['descr']?.trim() ?? '' });
      if (name === 'p:ph') role = attributes['type'] ?? 'content';
      if (name === 'a:tbl') rows = [];
      if (name === 'a:tr') rows?.push([]);
      if (name === 'a:tc') paragraphs = [];
      if (name === 'a:p') paragraph = '';
      if (name === 'a:br') paragraph += ' ';
      isText = name === 'a:t';
    },
    text(part) {
      if (isText) paragraph += part;
    },
    close(name) {
      isText = false;
      if (name === 'p:pic') isPicture = false;
      if (name === 'a:p' && paragraph.trim() !== '') paragraphs.push(paragraph.trim());
      if (name === 'a:tc') rows?.at(-1)?.push(paragraphs.join(' '));
      if (name === 'a:tbl' && rows) {
        shapes.push({ role: '', text: markdownTable(rows) });
        rows = null;
      }
      if (name === 'p:sp' && paragraphs.length > 0) shapes.push({ role, text: paragraphs.join('\n') });
    },
  });
  return shapes.filter(({ text }) => text !== '');
}

interface Series {
  name: string;
  /** By their places along the axis; the file holds them beside the workbook that they come from. */
  labels: Map<string, string>;
  values: Map<string, string>;
}

type Part = 'name' | 'labels' | 'values';
const partOf: Record<string, Part> = {
  ...{ 'c:tx': 'name', 'c:cat': 'labels', 'c:xVal': 'labels', 'c:val': 'values', 'c:yVal': 'values' },
};

/** A chart of an office document (DrawingML, ECMA-376): its title, and each row of numbers in a line. */
export function chartText(xml: string): string {
  const series: Series[] = [];
  let title = '';
  let part: Part | null = null;
  let place = '';
  let [isTitle, isText] = [false, false];
  readXmlEvents(xml, {
    open(name, attributes) {
      if (name === 'c:title') isTitle = true;
      if (name === 'c:ser') series.push({ name: '', labels: new Map(), values: new Map() });
      part = partOf[name] ?? part;
      if (name === 'c:pt') place = attributes['idx'] ?? '';
      isText = name === 'c:v' || name === 'a:t';
    },
    text(text) {
      const one = series.at(-1);
      if (!isText) return;
      if (isTitle) title += one ? '' : text;
      else if (one && part === 'name') one.name += text;
      else if (one && part) {
        const points = part === 'labels' ? one.labels : one.values;
        points.set(place, (points.get(place) ?? '') + text);
      }
    },
    close(name) {
      isText = false;
      if (name === 'c:title') isTitle = false;
      if (name in partOf) part = null;
    },
  });
  const lines = series.filter(({ values }) => values.size > 0).map(lineOf);
  return [title.trim(), lines.join('\n')].filter(Boolean).join('\n\n');
}

function lineOf({ name, labels, values }: Series): string {
  const points = [...values].map(([place, value]) => `${labels.get(place) ?? ''} ${value}`.trim());
  return `- ${[name.trim(), points.join(', ')].filter(Boolean).join(': ')}`;
}
