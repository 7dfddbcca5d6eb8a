import { describe, expect, it } from 'vitest';
import { stemGerman } from '../../../src/engine/languages.ts';

describe('the stem of German words', () => {
  it.each([
    ['gluckern', 'gluckert'],
    ['Fahrer', 'Fahrerin', 'Fahrerinnen', 'Fahrern'],
    ['Bewerber', 'Bewerberinnen'],
    ['Vertrag', 'Vertrages', 'Verträge', 'Verträgen'],
    ['Straße', 'Strassen'],
    ['Haus', 'Hauses'],
    ['gespeichert', 'speichern'],
    ['Schiff', 'Schiffe'],
    ['Bein', 'Beine'],
  ])('is the same for the forms of %s', (...words) => {
    expect(new Set(words.map((word) => stemGerman(word.toLowerCase()))).size).toBe(1);
  });

  it.each([
    ['Reise', 'Riese'],
    ['Wein', 'Wien'],
  ])('keeps %s and %s apart', (one, other) => {
    expect(stemGerman(one.toLowerCase())).not.toBe(stemGerman(other.toLowerCase()));
  });
});
