import { describe, expect, it } from 'vitest';
import { stem } from '../../../src/engine/languages.ts';

/** Words with the stems that PostgreSQL's `english_stem` gives them. */
const stems =
  'added:add egging:egg connection:connect connected:connect adoption:adopt adopted:adopt rotate:rotat rotating:rotat rotations:rotat sessions:session ' +
  'decision:decis running:run generously:generous generate:generat communication:communic communism:communism arsenal:arsenal ' +
  'skies:sky dying:die ugly:ugli early:earli singly:singl proceeding:proceed exceedingly:exceed succeed:succeed herring:herring ' +
  'inning:inning news:news atlas:atlas happily:happili happy:happi cry:cri say:say yes:yes youth:youth enjoyed:enjoy ties:tie ' +
  'cries:cri gaps:gap gas:gas kiwis:kiwi caresses:caress agreed:agre feed:feed luxuriate:luxuri hopping:hop hoping:hope ' +
  'falling:fall filing:file failing:fail sized:size conditional:condit rationally:ration valency:valenc digitizer:digit ' +
  'radically:radic differently:differ vileness:vile operator:oper feudalism:feudal decisiveness:decis hopefulness:hope ' +
  'callousness:callous formality:formal sensitivity:sensit sensibility:sensibl analogously:analog archaeology:archaeolog ' +
  'fluently:fluentli triplicate:triplic formative:format formalize:formal electrical:electr goodness:good revival:reviv ' +
  'allowance:allow inference:infer airliner:airlin gyroscopic:gyroscop adjustable:adjust defensible:defens irritant:irrit ' +
  'replacement:replac adjustment:adjust dependent:depend homologous:homolog effective:effect bowdlerize:bowdler probate:probat ' +
  'rate:rate cease:ceas controll:control roll:roll consignment:consign knightly:knight yellow:yellow psychology:psycholog boyish:boyish';

describe('stem', () => {
  it.each(stems.split(' ').map((pair) => pair.split(':') as [string, string]))('of %s is %s', (word, expected) => {
    expect(stem(word)).toBe(expected);
  });

  it.each([
    ['applicants', 'applications'],
    ['important', 'import'],
    ['accountants', 'accounts'],
    ['department', 'departed'],
    ['apartments', 'apart'],
    ['informant', 'information'],
    ['occupants', 'occupations'],
  ])('tells %s from %s, which means something else', (one, other) => {
    expect(stem(one)).not.toBe(stem(other));
  });

  it('of importance is that of important', () => {
    expect(stem('importance')).toBe(stem('important'));
  });

  it.each(['', 'a', 'is', 'of'])('of the short word %j is the word', (word) => {
    expect(stem(word)).toBe(word);
  });
});
