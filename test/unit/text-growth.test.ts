import { describe, expect, it } from 'vitest';
import { listFiles, readFile } from '../support/imports-of.ts';
import { steepGrowthOf } from '../support/text-growth/growth.ts';
import { nastyTexts } from '../support/text-growth/nasty-texts.ts';
import { notMeasured, textFunctions } from '../support/text-growth/text-functions.ts';

/**
 * Nobody may be able to write a text that takes longer than its length allows. Here each function meets each nasty
 * text once, in one of its frames; `npm run text-growth` tries all of them, and longer ones.
 */
const texts = nastyTexts({ pairs: 30, seed: 20_261_122 });
const frames = 4;

describe.each(Object.entries(textFunctions))('%s', (path, functions) => {
  it.each(Object.keys(functions))('%s takes time in proportion to its text', { timeout: 120_000 }, async (name) => {
    const turn = path.length + name.length;
    const steep: string[] = [];
    for (const [index, text] of texts.entries()) {
      if (index % frames !== (turn + Math.floor(index / frames)) % frames) continue;
      const growth = await steepGrowthOf(functions[name]!, text.make, { minSize: 2048, maxSize: 8192 });
      if (growth) steep.push(`${text.name}: ${growth.ms} ms for ${growth.size}, ratio ${growth.ratio}`);
    }
    expect(steep).toEqual([]);
  });
});

/** Where texts of others are worked on. */
const folders = ['src/engine/chunk/*.ts', 'src/engine/extract/*.ts', 'src/engine/terms.ts', 'src/engine/stem*.ts'];
const files = listFiles(
  ...folders,
  'src/engine/text/text-worker.ts',
  'src/memory/rules/*.ts',
  'src/memory/*.ts',
  'src/search/*.ts',
);
const exported = /^export (?:async )?(?:function|const) (\w+)(?:\(([^)]*)|: Cutter)/gm;

/** What takes texts under another name than these takes names and ids, or is in the folders above. */
const textParameter =
  /\b(?:text|content|markdown|html|message|query|body|line|source|markup|raw|words?|bytes|input)\??: (?:string|Uint8Array|Buffer)\b/;
const typesOfText = /\b(?:string|Uint8Array|Turn|Unit|Sentence|Statement|Extracted)\b/;

function unmeasured(path: string, isText: RegExp): string[] {
  const overText = [...readFile(path).matchAll(exported)].filter(
    ([, , parameters]) => parameters === undefined || isText.test(parameters),
  );
  const known = [...Object.keys(textFunctions[path] ?? {}), ...Object.keys(notMeasured[path] ?? {})];
  return overText.flatMap(([, name]) => (known.some((one) => one.split(' ')[0] === name) ? [] : [name!]));
}

it.each(files)('every function over text that %s exports is measured', (path) => {
  expect(unmeasured(path, typesOfText), 'add it to test/support/text-growth/text-functions.ts').toEqual([]);
});

it('so is what the rest of the source exports', () => {
  const rest = listFiles('src/**/*.ts').filter((path) => !files.includes(path));
  const missing = rest.flatMap((path) => unmeasured(path, textParameter).map((name) => `${path} ${name}`));
  expect(missing, 'add it to test/support/text-growth/text-functions.ts').toEqual([]);
});
