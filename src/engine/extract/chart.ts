import { readXmlEvents } from './xml-events.ts';

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
