/** Verbs that say what somebody does, has or is. A statement with another verb is no fact. */
const plainVerbs = `adopt apply assemble attend avoid bake bike book camp carve celebrate change clean close coach collect commute complete compose
  cook cost cover cross cycle dance decorate deliver deploy design develop direct dislike donate earn enjoy enrol enroll expand explore
  extend finish fix foster garden graduate harvest hate hike hire host implement improve increase inherit install invest join
  juggle knit launch learn lecture like live love lower major manage marry mentor migrate move name narrow offer open order
  organise organize own paint pass perform plan plant play postpone practice practise prefer prepare present publish purchase push
  raise reach receive record reduce refactor register release relocate renew renovate repair replace report reschedule
  reserve restore retire return review sail save schedule score serve settle sew share ship shorten sign skate
  ski smoke start stop store study submit supervise surf switch tend trade train transfer translate travel trim turn update upgrade use
  visit volunteer walk watch weigh work wrap welcome list edit print pick finalize finalise bump rename merge convert
  double lease lend enter expire last land top total contain include support require measure average prescribe tour sketch sprain date expect twist fracture inherit babysit house hatch`;

/** Base, past, participle. */
const irregularVerbs = `be was been|have had had|do did done|go went gone|get got gotten|become became become|begin began begun|bring brought brought|
  break broke broken|build built built|buy bought bought|catch caught caught|choose chose chosen|come came come|cut cut cut|dig dug dug|draw drew drawn|
  drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|find found found|fly flew flown|give gave given|
  grow grew grown|hang hung hung|hit hit hit|hold held held|keep kept kept|lead led led|leave left left|lend lent lent|lose lost lost|
  make made made|meet met met|pay paid paid|put put put|quit quit quit|read read read|ride rode ridden|rise rose risen|run ran run|
  sell sold sold|send sent sent|set set set|sing sang sung|sit sat sat|sleep slept slept|speak spoke spoken|spend spent spent|
  sleep slept slept|stand stood stood|swim swam swum|take took taken|teach taught taught|wake woke woken|wear wore worn|win won won|write wrote written|
  retake retook retaken|rebuild rebuilt rebuilt|resell resold resold|rewrite rewrote rewritten|bet bet bet|drop dropped dropped|stop stopped stopped|
  plan planned planned|trim trimmed trimmed|ship shipped shipped|swap swapped swapped|jog jogged jogged|wrap wrapped wrapped|enrol enrolled enrolled|
  submit submitted submitted|transfer transferred transferred|knit knitted knitted|rent rented rented|top topped topped|study studied studied|
  shrink shrank shrunk|hide hid hidden|upset upset upset|throw threw thrown|beat beat beaten|grind ground ground|weave wove woven`;

/** Verbs of thought, talk and impression: a sentence with one of them says how somebody sees something, not what is. */
const mentalVerbs = `agree aim ask admire admit appreciate assume believe bet call care check compare confuse consider continue create debate decide doubt dream
  encourage ensure expect explain face fear figure focus follow forgive guess handle hear help hope imagine inspire intend
  know let listen look matter mean mention miss need notice realise realize recommend recall regret relate remember respect say see seem
  sense show sound stay stick struggle suggest suppose talk tell thank think treat try trust understand value want wait wish wonder worry
  wrestle feel find forget cover allow answer apologise apologize argue arrive assign attempt attract balance blame borrow bother
  calculate cause chat cheer chill claim collaborate combine comfort commit communicate complain concern connect contact contribute cope count
  deal define depend describe deserve discover discuss document draft embrace end engage escape establish estimate examine exercise exist
  experience experiment express fancy fight fill fit gain gather generate glow grab guide happen hesitate highlight identify
  influence integrate introduce invite involve jump kick lack laugh lean lie link maintain mark mind motivate note observe obsess occur optimise optimize
  overcome participate pause point process promise prove provide pull pursue rank react rely remain remind remove research resolve respond rest
  reveal reward roll rush search seek select shine shop sleep smell smile solve sort stare strengthen stress structure suffer
  surprise tackle tag taste tease test touch track trip type view volunteer vote wash waste whip wind wonder yearn zoom add adapt adjust adore
  bounce brainstorm cheer cherish code configure crave debug decline delay detect drag ease elaborate embed enable encounter enhance evaluate`;

export type Form = 'base' | 'third' | 'past' | 'participle' | 'gerund';
export interface VerbForm {
  base: string;
  forms: ReadonlySet<Form>;
}

const forms = new Map<string, { base: string; forms: Set<Form> }[]>();
const told = new Set<string>();

const doubled = new Set(
  'plan stop drop run swim swap jog get cut put sit set quit win begin knit trim ship wrap submit transfer dig hit bet let top enrol'.split(
    ' ',
  ),
);

const oddForms = [
  ['is', 'be'],
  ['am', 'be'],
  ['are', 'be'],
] as const;

const mentalPasts = [
  ['think', 'thought'],
  ['feel', 'felt'],
  ['know', 'knew'],
  ['say', 'said'],
  ['tell', 'told'],
  ['hear', 'heard'],
  ['see', 'saw'],
  ['mean', 'meant'],
  ['understand', 'understood'],
  ['forget', 'forgot'],
  ['stick', 'stuck'],
  ['seek', 'sought'],
  ['let', 'let'],
  ['fight', 'fought'],
] as const;

addAll();

/** The forms that a word can be as a verb; empty for an unknown verb. */
export function verbForms(word: string): readonly VerbForm[] {
  return forms.get(word.toLowerCase()) ?? [];
}

/** Its base when the word has one of the forms. */
export function baseOf(word: string, ...wanted: Form[]): string | null {
  return verbForms(word).find((one) => wanted.some((form) => one.forms.has(form)))?.base ?? null;
}

/** Whether statements with the verb can be facts. */
export function tells(base: string): boolean {
  return told.has(base);
}

/** `lives` of `live`; null when the verb is not known: a word is never made up. */
export function thirdPersonOf(base: string): string | null {
  return forms.get(base)?.some((one) => one.base === base) ? regularThird(base) : null;
}

function addAll(): void {
  for (const base of wordsOf(plainVerbs)) {
    told.add(base);
    addVerb(base, regularPast(base), regularPast(base));
  }
  for (const verb of irregularVerbs.split('|')) {
    const [base, past, participle] = wordsOf(verb) as [string, string, string];
    told.add(base);
    addVerb(base, past, participle);
  }
  for (const base of wordsOf(mentalVerbs)) if (!told.has(base)) addVerb(base, regularPast(base), regularPast(base));
  for (const [base, past] of mentalPasts) {
    told.delete(base);
    addForm(past, base, 'past');
    addForm(past, base, 'participle');
  }
  for (const [word, base] of oddForms) addForm(word, base, word === 'am' ? 'base' : 'third');
  addForm('were', 'be', 'past');
  addForm('got', 'get', 'participle');
}

function addVerb(base: string, past: string, participle: string): void {
  addForm(base, base, 'base');
  addForm(regularThird(base), base, 'third');
  addForm(past, base, 'past');
  addForm(participle, base, 'participle');
  addForm(gerundOf(base), base, 'gerund');
}

function addForm(word: string, base: string, form: Form): void {
  const known = forms.get(word) ?? [];
  const same = known.find((one) => one.base === base);
  if (same) same.forms.add(form);
  else forms.set(word, [...known, { base, forms: new Set([form]) }]);
}

function regularThird(base: string): string {
  const odd = ({ be: 'is', have: 'has', do: 'does', go: 'goes' } as Record<string, string>)[base];
  if (odd !== undefined) return odd;
  if (/(?:s|x|z|ch|sh)$/.test(base)) return `${base}es`;
  return /[^aeiou]y$/.test(base) ? `${base.slice(0, -1)}ies` : `${base}s`;
}

function regularPast(base: string): string {
  if (base.endsWith('e')) return `${base}d`;
  return /[^aeiou]y$/.test(base) ? `${base.slice(0, -1)}ied` : `${base}ed`;
}

function gerundOf(base: string): string {
  if (base === 'be') return 'being';
  if (base === 'lie') return 'lying';
  if (doubled.has(base)) return `${base}${base.at(-1)}ing`;
  return base.endsWith('e') && !base.endsWith('ee') ? `${base.slice(0, -1)}ing` : `${base}ing`;
}

function wordsOf(text: string): string[] {
  return text.trim().split(/\s+/);
}
