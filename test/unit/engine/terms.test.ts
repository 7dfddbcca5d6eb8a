import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../support/cpu-time.ts';
import { languagesOfText, queryTerms, queryWords, terms } from '../../../src/engine/terms.ts';

const counted = (text: string) => {
  const found = terms(text);
  return Object.fromEntries(found.terms.map((term, index) => [term, found.counts[index]]));
};

describe('terms', () => {
  it('are stems in lower case, without stop words, with how often they stand there', () => {
    expect(counted('Rotate the signing keys: the key rotation is due.')).toEqual({ rotat: 2, sign: 1, key: 2, due: 1 });
    expect(terms('Rotate the signing keys').total).toBe(3);
  });

  it.each([
    ['rotateSigningKey', ['rotatesigningkey', 'rotat', 'sign', 'key']],
    ['parseHTTPHeader', ['parsehttphead', 'pars', 'http', 'header']],
    ['snake_case__name', ['snake_case__name', 'snake', 'case', 'name']],
    ['sign-in', ['sign-in', 'sign']],
    ['src/config.yaml', ['src', 'config.yaml', 'config', 'yaml']],
    ['v1.2.10', ['v1.2.10', 'v1', '2', '10']],
    ['iPhones', ['iphon', 'phone']],
    ['URLs', ['url']],
    ['WP-220-0031', ['wp-220-0031', 'wp', '220', '0031']],
    ['mira@fernhill.example', ['mira', 'fernhill.example', 'fernhil', 'exampl']],
    ["the company's staff don’t", ['compani', 'staff', 'dont']],
    ['19.99', ['19.99', '19', '99']],
  ])('of %s are the whole and its parts', (text, expected) => {
    expect(queryTerms(text)).toEqual(expected);
  });

  it.each([
    ['Łukasz', ['łukasz', 'lukasz']],
    ['Straße', ['straße', 'strass']],
    ['the naïve café of our town', ['naïve', 'naiv', 'café', 'cafe', 'town']],
    ['Łódź', ['łódź', 'lodz']],
    ['ﬁnance ＡＢＣ', ['financ', 'abc']],
    ['Donau\u00addampf', ['donaudampf']],
    ['Ќе', ['ќе', 'ке']],
  ])('of %s are also there without diacritics', (text, expected) => {
    expect(queryTerms(text)).toEqual(expected);
  });

  it.each([
    ['Wann laufen die Verträge aus?', 'Der Vertrag der Wohnung läuft im Mai aus.', ['vertrag']],
    ['Quels sont les prix des locations ?', 'Le prix de la location est fixe.', ['prix', 'locat']],
    ['¿Cuánto cuestan las entradas?', 'La entrada cuesta diez euros.', ['entrad']],
  ])('%s and its answer share the stems of their language', (query, text, stems) => {
    const found = new Set(terms(text).terms);
    const words = queryWords(query).filter(({ forms }) => forms.some((form) => found.has(form)));
    for (const stem of stems) expect(words.flatMap(({ forms }) => forms)).toContain(stem);
  });

  it('of another language keep their stop words, which a query leaves out', () => {
    expect(terms('Der Vertrag liegt in der Mappe.').terms).toContain('der');
    expect(queryWords('Wo ist der Vertrag?').map(({ forms }) => forms)).toEqual([['vertrag']]);
    expect(queryWords('ist das so').map(({ forms }) => forms[0])).toEqual(['ist', 'das', 'so']);
    expect(queryTerms('die hard')).toContain('die');
  });

  it.each([
    ["l'appartement", ['appart', 'lappart']],
    ['dell’acqua', ['acqua', 'dellacqua']],
    ["d'Artagnan", ['artagnan', 'dartagnan']],
    ["don't", ['dont']],
    ["O'Brien", ['obrien', 'brien']],
  ])('of %s are without the small word that is joined to it', (text, expected) => {
    expect(queryTerms(text)).toEqual(expected);
  });

  it('of a query are counted by word, with all forms of it together', () => {
    expect(queryWords('Müller, Müller')).toEqual([{ forms: ['müller', 'muller', 'mull'], count: 2 }]);
  });

  it.each([
    ['東京タワー', ['東京', '京タ', 'タワ', 'ワー']],
    ['東京2024年', ['東京', '2024', '年']],
    ['한국어 문장', ['한국', '국어', '문장']],
    ['ภาษา', ['ภา', 'าษ', 'ษา']],
    ['use 検索 here', ['use', '検索', 'here']],
    ['𠮷野家', ['𠮷野', '野家']],
  ])('of %s are pairs of characters', (text, expected) => {
    expect(queryTerms(text)).toEqual(expected);
  });

  it.each([
    ['猫', '黒猫の名前はクロ。'],
    ['물', '뜨거운 물을 마신다'],
    ['have', 'Vi har en stor have, og der er mange blomster i den.'],
    ['œuvre', 'La main-d’œuvre n’est pas comprise dans le prix.'],
  ])('have %s, which stands in a text of another language', (word, text) => {
    expect(terms(text).terms).toEqual(expect.arrayContaining([...queryTerms(word)]));
  });

  it('of a query are in all languages of the texts that are searched', () => {
    expect(queryWords('Verträgen')).toEqual(queryWords('Verträgen', ['de']));
    expect(queryWords('Wohnungen')[0]!.forms).toEqual(['wohnungen']);
    expect(queryWords('Wohnungen', ['de', 'fr'])[0]!.forms).toContain('wohnung');
    expect(queryWords('mother', [])).toEqual([{ forms: ['mother'], count: 1 }]);
  });

  it('of a part that does not tell its language are in that of the whole', () => {
    const whole = languagesOfText('Die Rechnungen sind bezahlt, und der Rest liegt in der Mappe.');
    expect(terms('Rechnungen: bezahlt').languages).toEqual([]);
    expect(terms('Rechnungen: bezahlt', whole)).toMatchObject({
      languages: ['de'],
      terms: expect.arrayContaining(['rechnung']),
    });
    expect(terms('Invoices of the year', whole).languages).toEqual([]);
  });

  it('are stop words only when nothing else is there', () => {
    expect(queryTerms('what is it')).toEqual(['what', 'is', 'it']);
    expect(queryTerms('what is the key')).toEqual(['key']);
    expect(terms('It is.')).toMatchObject({ terms: ['is', 'it'], counts: [1, 1], total: 2 });
    expect(terms(' …!\n')).toMatchObject({ terms: [], counts: [], total: 0 });
  });

  it('have at most 40 characters, whole ones', () => {
    expect(terms('x'.repeat(1_000_000))).toMatchObject({ terms: ['x'.repeat(40)], counts: [1], total: 1 });
    expect(queryTerms(`a${'𝒳'.repeat(60)}`)[0]!.length).toBeLessThanOrEqual(40);
    // A letter outside of the first plane that NFKC leaves as it is; its pair would be cut in the middle.
    expect(queryTerms(`a${'𐐨'.repeat(60)}`)).toEqual([`a${'𐐨'.repeat(19)}`]);
  });

  it('are counted up to what a smallint holds', () => {
    expect(terms('word '.repeat(40_000))).toMatchObject({ terms: ['word'], counts: [32_767], total: 32_767 });
  });

  it('are found again by a query that holds the same word, in any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const found = terms(text);
        const bytes = found.terms.map((term) => Buffer.from(term));
        expect(bytes).toEqual([...bytes].sort(Buffer.compare));
        expect(new Set(found.terms).size).toBe(found.terms.length);
        expect(found.counts.reduce((sum, count) => sum + count, 0)).toBe(found.total);
        expect(found.terms).toEqual(expect.arrayContaining(queryTerms(text)));
        for (const term of found.terms) {
          expect(term.length).toBeGreaterThan(0);
          expect(term.isWellFormed() && !term.includes('\0')).toBe(true);
        }
      }),
    );
  });

  it.each(['aB', 'a.', '東', "'’", 'a_', '\u0301', 'ä', '_'])(
    'of a long text of %j are found in linear time',
    (part) => {
      expect(cpuMs(() => terms(part.repeat(100_000)))).toBeLessThan(3000);
    },
    60_000,
  );

  it('of a query that tells that it is in English have no stems of other languages', () => {
    const forms = (query: string) => queryWords(query, ['fr']).flatMap((word) => word.forms);
    expect(forms('which applicant could begin')).toEqual(['applicant', 'begin']);
    expect(forms('applicant')).toEqual(expect.arrayContaining(['applicant', 'applic']));
    expect(forms('le candidat pour le poste')).toContain('candidat');
    // In Finnish the stem of `median` is `media`.
    const inStore = ['de', 'es', 'fi', 'fr', 'it', 'nl'];
    const words = (query: string) => queryWords(query, inStore).map((word) => word.forms);
    expect(words('median of a list of numbers')).toEqual([['median'], ['list'], ['number']]);
    expect(words('on a mangé')[0]).toEqual(expect.arrayContaining(['mang']));
  });
});
