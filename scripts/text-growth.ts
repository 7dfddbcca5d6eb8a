/**
 *     npm run text-growth -- [--only NAME] [--bytes 1000000] [--pairs 200] [--seed N]
 *
 * Feeds every function over text with every nasty text, up to the given size, and prints those whose time grows
 * faster than the length; ends with 1 when there is one. The short form is `test/unit/text-growth.test.ts`.
 */
import { steepGrowthOf } from '../test/support/text-growth/growth.ts';
import { nastyTexts } from '../test/support/text-growth/nasty-texts.ts';
import { textFunctions } from '../test/support/text-growth/text-functions.ts';
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: {
    only: { type: 'string', default: '' },
    bytes: { type: 'string', default: '1000000' },
    pairs: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
});
const texts = nastyTexts({ pairs: Number(values.pairs), seed: Number(values.seed) });
const maxSize = Number(values.bytes);
let measured = 0;
for (const [path, functions] of Object.entries(textFunctions)) {
  for (const [name, run] of Object.entries(functions)) {
    if (!`${path} ${name}`.includes(values.only)) continue;
    for (const text of texts) {
      measured += 1;
      const growth = await steepGrowthOf(run, text.make, { maxSize });
      if (growth === null) continue;
      process.exitCode = 1;
      console.log(
        `${path} ${name}: ${text.name}: ${growth.ms.toFixed(0)} ms for ${growth.size}, ratio ${growth.ratio.toFixed(0)}`,
      );
    }
  }
}
console.log(`${measured} texts and functions, ${process.exitCode === 1 ? 'some not linear' : 'all linear'}`);
