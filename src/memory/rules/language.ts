import { verbForms } from './verbs.ts';

const english = new Set(
  'the a an and or but of to in on at for with from is are was were be been am have has had do does did not i you he she it we they my your his her our their me him us them this that what which who how when where will would can could just so too very'.split(
    ' ',
  ),
);

/** Words of grammar and verbs are English ones. Short texts are given the benefit of the doubt. */
export function isEnglish(text: string): boolean {
  const sample = text.slice(0, 2000).toLowerCase();
  const foreign = sample.match(/[^\u0000-\u024f\u2000-\u2bff\ufe0f\ud83c-\udbff\udc00-\udfff]/gu)?.length ?? 0;
  if (foreign > sample.length * 0.15) return false;
  const words = sample.match(/[\p{L}']+/gu) ?? [];
  if (words.length < 3) return true;
  const known = words.filter(
    (word) => english.has(word) || verbForms(word).length > 0 || /^(?:i|we|you|he|she|it|they)'/.test(word),
  ).length;
  if (words.length < 6) return known > 0 || !/[äöüßéèêàçñõãáíóúåøæłśżźčřžő]/.test(sample);
  return known >= words.length * 0.15;
}
