import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engines, openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { chunk, cooking, find, ids, ships } from '../support/search-finder.ts';
import { storeWorld } from '../support/search-world.ts';

/** What is typed, and the text that it stands in. */
const phrases: readonly (readonly [string, string])[] = [
  ['Dentist crown copay', '2026-02-11,Dentist crown copay,250.00,health'],
  ['ERR_CONN_4711', 'The client stops with ERR_CONN_4711 when the proxy is gone.'],
  ['parseHttpHeader', 'export function parseHttpHeader(line: string): Header {'],
  ['git rebase --onto', 'Use `git rebase --onto main topic` to move the branch.'],
  ['10.20.30.40', 'The printer answers at 10.20.30.40 in the basement.'],
  ['jane.doe@example.org', 'Write to jane.doe@example.org about the keys.'],
  ['https://example.org/a/b?id=7', 'See https://example.org/a/b?id=7 for the form.'],
  ['+49 228 555 0199', 'Call the office at +49 228 555 0199 before noon.'],
  ['E0382', 'error[E0382]: borrow of moved value'],
  ['0x80070057', 'Setup failed with 0x80070057 on the second disk.'],
  ['SELECT count(*) FROM orders', 'The report runs SELECT count(*) FROM orders each night.'],
  ['MEMORY_LIMIT=512m', 'Set MEMORY_LIMIT=512m in the unit file.'],
  ['Smørrebrød', 'For lunch there was Smørrebrød with herring.'],
  ['Straße des 17. Juni', 'Wir treffen uns an der Straße des 17. Juni.'],
  ['東京駅', '集合場所は東京駅の北口です。'],
  ["O'Brien & Sons", "The roof was done by O'Brien & Sons in May."],
  ['v2.14.0-rc.3', 'Released v2.14.0-rc.3 with the fixes.'],
  ['to be or not to be', 'He began: to be or not to be, that is it.'],
  ['user_settings.json', 'Options are in user_settings.json beside the program.'],
  ['ISBN 978-3-16-148410-0', 'Ordered: ISBN 978-3-16-148410-0, two copies.'],
  ['NullPointerException at Foo.bar', 'Caused by: NullPointerException at Foo.bar(Foo.java:12)'],
  ['§ 433 BGB', 'Der Kauf richtet sich nach § 433 BGB.'],
];

const sizes = { small: 0, large: 600 };

describe.each(engines)('words that stand in a text are found on %s', (engine) => {
  describe.each(Object.entries(sizes))('in a %s store', (_, count) => {
    let opened: TestDatabase;

    beforeAll(async () => {
      opened = await openTestDatabase(engine);
      const others = Array.from({ length: count }, (_each, index) =>
        chunk(
          `other${index}`,
          `Minutes ${index}: crown prince, dentist at 10, orders and settings of the office.`,
          cooking,
        ),
      );
      const chunks = [...phrases.map(([, text], index) => chunk(`hit${index}`, text, cooking)), ...others];
      await storeWorld(opened.database, { documents: [{ id: 'doc', containerTag: 'team', chunks }] });
    });
    afterAll(() => opened.close());

    test.each([
      ['read completely', 5_000],
      ['reached by indexes', 0],
    ])('all of them, when it is %s', async (_name, exactLimit) => {
      const missed: string[] = [];
      for (const [index, [q]] of phrases.entries()) {
        const found = await find(opened.database, { q, threshold: 0.6 }, { vector: ships, exactLimit });
        if (!ids(found).includes(`hit${index}`)) missed.push(q);
      }
      expect(missed).toEqual([]);
    });
  });
});
