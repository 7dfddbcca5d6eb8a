import { expect, it } from 'vitest';
import { turnsOfText } from '../../src/memory/rules/turns.ts';

const speakers = (text: string) => [...new Set(turnsOfText(text).map(({ speaker }) => speaker))];

const changeLog = `# Change log

## v4.1.3 2017-10-06

- You can close the pool now.

### 4.1.2 - 2017-10-02

- We read headers again.

-   v4.1.1 2017-10-01

    - My own certificate is checked.
`;

const metadata = `Metadata-Version: 2.4
Name: attrs
Author-email: Hynek Schlawack <hs@example.org>
Classifier: Development Status :: 5 - Production/Stable
Classifier: Programming Language :: Python
Requires-Dist: colorama
Requires-Dist: pytest
Classifier: Typing :: Typed
`;

const page = `Fernhill Weather: handbook for employees

You get your laptop on your first day, and your manager shows you around.

Laptops: ask the help desk.
Keys: at the front desk.

We close at six.
`;

it.each([
  ['a change log with dates', changeLog],
  ['the fields of a package', metadata],
  ['the same above a text', `${metadata}\n\n# attrs\n\nYou write classes without boilerplate, and we like them.\n`],
  ['a page with headings that end in a colon', page],
])('no heading of %s is a speaker', (_, text) => {
  expect(speakers(text)).toEqual([null]);
});

it.each([
  ['Maya: I signed up for a pottery class.\nFirst one was yesterday.', ['Maya']],
  ['Anna: the crane is late.\nBen: it comes on Monday.\nAnna: good.', ['Anna', 'Ben']],
  ['Alice 10:31\nthe crane is late\nBob#1234 10:32\nit comes on Monday', ['Alice', 'Bob']],
  ['[10:31] Alice\nthe crane is late\n[10:32] Bob\nit comes on Monday', ['Alice', 'Bob']],
])('people still are: %j', (text, names) => {
  expect(speakers(text)).toEqual(names);
});
