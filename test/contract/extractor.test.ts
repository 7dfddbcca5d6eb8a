import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createTextWork, type TextWork } from '../../src/engine/text/text-work.ts';
import type { Candidate, Extractor, Turn, Unit } from '../../src/memory/extractor.ts';
import { createLlmExtractor } from '../../src/memory/llm/llm-extractor.ts';
import { turnsOfText } from '../../src/memory/rules/turns.ts';
import { createHashingEmbedder } from '../../src/models/hashing-embedder.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { insertDocument, startLanguageModelStand, type LanguageModelStand } from '../support/language-model.ts';
import { json, turnsIn, type Asked } from '../support/language-model-server.ts';

const date = new Date('2026-03-04T12:00:00Z');
const never = new AbortController().signal;

/** What a language model would say of the sentences below, and no more. */
function factsOf(request: Asked) {
  return turnsIn(request).flatMap(({ turn, speaker, text }) => {
    const said = [...text.matchAll(/\bI (live|work) (in|at) (\p{Lu}\p{L}+)\./gu)];
    if (speaker === null || speaker === 'assistant') return [];
    return said.map(([, verb, where, name]) => ({
      ...{ text: `${capital(speaker)} ${verb}s ${where} ${name}.`, subject: speaker, category: 'fact' },
      ...{ slot: verb === 'live' ? 'home' : 'employer', value: name, ends: false, lasting: true, inferred: false },
      ...{ dates: [], expires: null, turns: [turn] },
    }));
  });
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

let opened: TestDatabase;
let stand: LanguageModelStand;
let textWork: TextWork;
beforeAll(async () => {
  textWork = createTextWork({ log: silentLogger, threads: 1, timeoutMs: 10_000, maxMemoryMb: 512 });
  opened = await openTestDatabase('pglite');
  await insertDocument(opened.database, 'doc', 'team');
  stand = await startLanguageModelStand(opened.database);
  stand.server.answer('facts', (request) => json({ facts: factsOf(request) }));
  stand.server.answer('decisions', json({ decisions: [] }));
});
afterAll(async () => {
  await stand.close();
  await opened.close();
  await textWork.close();
});

const extractors: Record<string, () => Extractor> = {
  rules: () => textWork.rules,
  llm: () =>
    createLlmExtractor({
      database: opened.database,
      embedder: createHashingEmbedder(),
      answering: stand.open(),
      rules: textWork.rules,
      now: () => stand.clock.now(),
    }),
};

function unitOf(turns: string | readonly Turn[], changes: Partial<Unit> = {}): Unit {
  return {
    turns: typeof turns === 'string' ? turnsOfText(turns) : turns,
    date,
    entityContext: null,
    author: null,
    trust: 'told',
    wants: ['fact'],
    source: { containerTag: 'team', documentId: 'doc' },
    ...changes,
  };
}

const said = (text: string, changes: Partial<Turn> = {}): Turn => ({
  ...{ speaker: null, role: 'user', text, start: null, date: null },
  ...changes,
});

describe.each(Object.keys(extractors))('the extractor %s', (name) => {
  const extractor = () => extractors[name]!();
  const extract = (unit: Unit): Promise<Candidate[]> => extractor().extract(unit, never);

  it('finds nothing where nothing is said', async () => {
    for (const text of ['', '   \n', 'Hi!', 'Where do you live?']) expect(await extract(unitOf(text))).toEqual([]);
    expect(await extract(unitOf([]))).toEqual([]);
  });

  it('finds what is said, with subject, slot and value', async () => {
    const [candidate, ...others] = await extract(unitOf('I live in Porto.'));
    expect(others).toEqual([]);
    expect(candidate).toMatchObject({
      text: 'The user lives in Porto.',
      kind: 'fact',
      subject: 'user',
      slot: 'home',
      value: 'porto',
      ends: false,
    });
  });

  it('names each speaker, and points at what was said', async () => {
    const text = 'Mira: I live in Porto.\nOmar: I live in Bonn.\nMira: I work at Acme.';
    const found = await extract(unitOf(text));
    expect(found.map((one) => one.text)).toEqual([
      'Mira lives in Porto.',
      'Omar lives in Bonn.',
      'Mira works at Acme.',
    ]);
    expect(found.map(({ author }) => author)).toEqual(['Mira', 'Omar', 'Mira']);
    for (const { span, value } of found) {
      expect(text.slice(span!.start, span!.end).toLowerCase()).toContain(value);
    }
  });

  it('answers the same to the same unit', async () => {
    const unit = unitOf('Mira: I live in Porto.\nOmar: I live in Bonn.');
    expect(await extract(unit)).toEqual(await extract(unit));
  });

  it('takes no assistant for a person, and reads no programs', async () => {
    const turns = [
      said('I live in Paris.', { role: 'assistant' }),
      said('I live in Rome.', { role: 'system' }),
      said('I live in Oslo.', { role: 'tool' }),
    ];
    expect(await extract(unitOf(turns))).toEqual([]);
  });

  it('gives only the kinds that are wanted', async () => {
    const turns = [said('I live in Porto.', { speaker: 'Mira' })];
    for (const wants of [['fact'], ['episode'], []] as const) {
      const found = await extract(unitOf(turns, { wants }));
      expect(found.every(({ kind }) => (wants as readonly string[]).includes(kind))).toBe(true);
    }
  });

  it('reads long texts to their end', async () => {
    const filler = 'The quick brown fox jumps over the lazy dog near the river bank. '.repeat(600);
    const found = await extract(unitOf(`Mira: ${filler}\nMira: I live in Porto.`));
    expect(found.map((one) => one.text)).toContain('Mira lives in Porto.');
  });

  it('keeps statements within bounds, and dates in their form', async () => {
    const text = 'Mira: I will be on leave until 20 March 2027.\nMira: I live in Porto.\nMira: \u{1f600}\ud800 ok \0.';
    for (const one of await extract(unitOf(text))) {
      expect(one.text.length).toBeLessThanOrEqual(600);
      expect(one.subject).not.toBe('');
      for (const iso of one.eventDates) expect(iso).toMatch(/^\d{4}(?:-\d{2}(?:-\d{2})?)?$/);
      if (one.forgetAfter) expect(one.forgetAfter.getTime()).toBeGreaterThan(date.getTime());
    }
  });

  it('stops when it is told to', async () => {
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(extractor().extract(unitOf('I live in Porto.'), aborted)).rejects.toThrow('enough');
  });
});
