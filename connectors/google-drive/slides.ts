import { unzip } from './unzip.ts';

const slideName = /^ppt\/slides\/slide(\d+)\.xml$/;
const needed = /^ppt\/(slides|notesSlides)\/(_rels\/)?[^/]+\.(xml|rels)$/;

/** Text of a presentation (.pptx), slide by slide, each with its speaker's notes, as Markdown. */
export function slidesText(bytes: Uint8Array): string {
  const files = unzip(bytes, (name) => needed.test(name));
  const slides = [...files.keys()]
    .flatMap((name) => {
      const number = slideName.exec(name)?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .toSorted((left, right) => left.number - right.number);
  return slides.map(({ name, number }) => slideText(files, name, number)).join('\n\n');
}

function slideText(files: ReadonlyMap<string, Buffer>, name: string, number: number): string {
  const text = paragraphsOf(files.get(name));
  const relations = files.get(name.replace('slides/', 'slides/_rels/') + '.rels')?.toString('utf8') ?? '';
  const notesName = /Target="\.\.\/(notesSlides\/[^"]+)"/.exec(relations)?.[1];
  // The page of notes repeats the number of the slide.
  const notes = paragraphsOf(notesName === undefined ? undefined : files.get(`ppt/${notesName}`)).filter(
    (line) => line !== String(number),
  );
  return [`## Slide ${number}`, ...text, ...(notes.length > 0 ? ['Notes:', ...notes] : [])].join('\n\n');
}

/** Paragraphs (`a:p`) of runs of text (`a:t`): ECMA-376 part 1, section 21.1.2. */
function paragraphsOf(xml: Buffer | undefined): string[] {
  const paragraphs = (xml?.toString('utf8') ?? '').split(/<\/a:p>/);
  return paragraphs
    .map((one) => [...one.matchAll(/<a:t>([^<]*)<\/a:t>/g)].map(([, text]) => decode(text!)).join(''))
    .filter((text) => text.trim() !== '');
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decode(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name as string] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
