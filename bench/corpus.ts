import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const words = `time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point home water room
mother area money story fact month lot right study book eye job word business issue side kind head house service friend
father power hour game line end member law car city community name president team minute idea kid body information back
parent face others level office door health person art war history party result change morning reason research girl guy
moment air teacher force education ask use find give tell call try need feel become leave put mean keep let begin seem
help talk turn start show hear play run move like live believe hold bring happen write provide sit stand lose pay meet
include continue set learn lead understand watch follow stop create speak read allow add spend grow open walk win offer
remember love consider appear buy wait serve die send expect build stay fall cut reach kill remain suggest raise pass
sell require report decide pull return explain hope develop carry break receive agree support hit produce eat cover catch
draw choose refer plan deploy invoice server key rotate backup client contract schedule review budget release customer
payment security network storage index memory search document connector mirror folder cursor token queue worker retry`
  .split(/\s+/)
  .filter((word) => word.length > 0);

/** Numbers that look random and are the same in each run. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** A note of about `bytes` bytes: a heading, paragraphs of sentences, words by Zipf's law. */
export function makeText(random: () => number, bytes: number): string {
  const word = () => words[Math.floor(words.length * random() ** 2)]!;
  let text = `# ${word()} ${word()} ${word()}\n\n`;
  while (text.length < bytes) {
    const sentence = Array.from({ length: 8 + Math.floor(random() * 10) }, word).join(' ');
    text += `${sentence[0]!.toUpperCase()}${sentence.slice(1)} ${Math.floor(random() * 1000)}.`;
    text += random() < 0.15 ? '\n\n' : ' ';
  }
  return `${text}\n`;
}

/** Writes `count` files of about `bytes` bytes, 100 to a folder. */
export async function writeFiles(root: string, count: number, bytes: number): Promise<void> {
  const random = createRandom(7);
  await writeTexts(root, count, () => makeText(random, bytes));
}

/** Writes `count` files, 100 to a folder. */
export async function writeTexts(root: string, count: number, textOf: (index: number) => string): Promise<void> {
  for (let start = 0; start < count; start += 100) {
    const folder = join(root, `group-${String(start / 100).padStart(5, '0')}`);
    await mkdir(folder, { recursive: true });
    const batch = Array.from({ length: Math.min(100, count - start) }, (_, index) =>
      writeFile(join(folder, `note-${String(index).padStart(3, '0')}.md`), textOf(start + index)),
    );
    await Promise.all(batch);
  }
}
