import { pageText } from '../../../src/engine/extract/pdf.ts';
import { authorizationPage } from '../../../src/api/routes/authorizations.ts';
import { profileAsMarkdown } from '../../../src/api/v5/routes/profile.ts';
import { Readable } from 'node:stream';
import * as jsonTextBounds from '../../../src/api/body.ts';
import { momentOf } from '../../../src/api/validation.ts';
import { contentOf, dateOf } from '../../../src/api/document-input.ts';
import { addedDocumentOf, documentChangeOf } from '../../../src/api/v5/document-input.ts';
import { withoutCredentials } from '../../../src/base/config.ts';
import { normalized } from '../../../src/base/normalized.ts';
import { readableLogLine } from '../../../src/cli/start.ts';
import { beginning, fraction, pastMoment } from '../../../src/cli/options.ts';
import { displayWidth, oneLine as shownLine, truncate, wrap } from '../../../src/cli/text.ts';
import { parseAllowedHours, parseSchedule } from '../../../src/schedule/schedule-text.ts';
import { isStorable, storableText } from '../../../src/base/storable.ts';
import { readInline } from '../../../src/sync/check-item.ts';
import { readHttpDate } from '../../../src/base/retry-after.ts';
import { wrongKey } from '../../../src/api/admission.ts';
import { containsText, rawSql } from '../../../src/store/sql.ts';
import { textLiteral } from '../../../src/store/search/candidates.ts';
import { parseFilters } from '../../../src/api/filters.ts';
import { readFileForm } from '../../../src/api/file-form.ts';
import { makeZip } from '../../../fixtures/make-documents.ts';
import { nearest } from '../../../src/base/did-you-mean.ts';
import * as plainBlocksOf from '../../../src/engine/chunk/blocks.ts';
import { chunk, createContexts, withContext, chunkTurns } from '../../../src/engine/chunk/chunk.ts';
import * as cuts from '../../../src/engine/chunk/cuts.ts';
import { contentEnd, contentStart, createMeasure } from '../../../src/engine/chunk/cuts.ts';
import { markdownBlocks, plainLabel } from '../../../src/engine/chunk/blocks.ts';
import { joinedText } from '../../../src/engine/joined-text.ts';
import { renderMessages } from '../../../src/engine/conversations.ts';
import * as plain from '../../../src/engine/extract/plain.ts';
import { calendarText, isCalendar } from '../../../src/engine/extract/plain.ts';
import { declaredCharset, decodeText } from '../../../src/engine/extract/charset.ts';
import { cleanText } from '../../../src/engine/extract/extracted.ts';
import { convert } from '../../../src/engine/extract/convert.ts';
import { csvText, markdownTable } from '../../../src/engine/extract/csv.ts';
import { detect, isHtmlPage, typeOfFile } from '../../../src/engine/extract/detect.ts';
import { parseHtml, parseXml, isTooDeep } from '../../../src/engine/extract/dom.ts';
import * as feed from '../../../src/engine/extract/feed.ts';
import { htmlText } from '../../../src/engine/extract/html.ts';
import { withFormulas } from '../../../src/engine/extract/docx.ts';
import { openDocumentText } from '../../../src/engine/extract/opendocument.ts';
import { presentationText, chartText } from '../../../src/engine/extract/pptx.ts';
import { workbookText } from '../../../src/engine/extract/xlsx.ts';
import { readXmlEvents } from '../../../src/engine/extract/office-xml.ts';
import { argumentsOf, withoutEscapes, pageOf } from '../../../src/engine/extract/manual/roff.ts';
import { closes, createLineReader, isInlineMacro } from '../../../src/engine/extract/manual/mdoc.ts';
import { tableRows, manualText } from '../../../src/engine/extract/manual/manual.ts';
import { richText } from '../../../src/engine/extract/rtf.ts';
import { formatOfMimeType, formatOfName, languageOfScript } from '../../../src/engine/extract/languages.ts';
import { compoundParts, languagesOfText, queryTerms, queryWords, terms } from '../../../src/engine/terms.ts';
import { stem, stemGerman, languagesOf } from '../../../src/engine/languages.ts';
import { tasks } from '../../../src/engine/text/text-worker.ts';
import { oneLine, shortLine } from '../../../src/mcp/text.ts';
import { quoted } from '../../../src/mcp/fence.ts';
import { isSamePerson, nameOf } from '../../../src/memory/authors.ts';
import type { Turn, Unit } from '../../../src/memory/extractor.ts';
import { topicOf } from '../../../src/memory/memories.ts';
import { memoryHash, wordsHashOf } from '../../../src/memory/memory-rows.ts';
import { isTranscript } from '../../../src/memory/policy.ts';
import { clausesOf } from '../../../src/memory/rules/clauses.ts';
import { dayNamedBy, dayOrderOf, findDates, isPutOff, momentOfStamp } from '../../../src/memory/rules/dates.ts';
import { rules, isEnglish, episodeOf } from '../../../src/memory/rules/extract.ts';
import { factsOf, withDates } from '../../../src/memory/rules/facts.ts';
import { keyWords, normalValue, thingWords } from '../../../src/memory/rules/key-words.ts';
import { ofNoSpeaker, ownerOf, ownless, nameOfThing } from '../../../src/memory/rules/measures.ts';
import { personIn, subjectKey } from '../../../src/memory/rules/people.ts';
import { predicateOf } from '../../../src/memory/rules/predicate.ts';
import { sentencesOf } from '../../../src/memory/rules/sentences.ts';
import { statementOf } from '../../../src/memory/rules/statement.ts';
import { expanded, inThirdPerson, isAdverb } from '../../../src/memory/rules/third-person.ts';
import { conversationOf, turnsOfMessages, turnsOfText } from '../../../src/memory/rules/turns.ts';
import { baseOf, thirdPersonOf, verbForms } from '../../../src/memory/rules/verbs.ts';
import { comparisonOf } from '../../../src/models/comparison.ts';
import { signsOfAnswer } from '../../../src/search/rerank.ts';
import { createTokenCounter, cutToTokens, estimateTokens } from '../../../src/models/token-counting.ts';
import { keywordsOf, wordingsOf, periodsOf } from '../../../src/search/read-query.ts';
import { countTokens } from '../count-tokens.ts';

type Run = (text: string) => unknown;
const said = new Date('2026-03-04T12:00:00Z');
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
const streamOf = (text: string) => Readable.from([Buffer.from(text)]);
const turnOf = (text: string): Turn => ({ speaker: null, role: null, text, start: 0, date: null });
const unitOf = (text: string): Unit => ({
  turns: [turnOf(text)],
  date: said,
  entityContext: text,
  author: 'Ana',
  trust: 'told',
  wants: ['fact', 'episode'],
});
const measure = createMeasure(countTokens, 32);
/** Chunks so small that the shortest texts have several, too. */
const options = { maxTokens: 32, overlapTokens: 8, countTokens };
const formats = ['text', 'markdown', 'code', 'csv', 'json', 'conversation'] as const;
const maxTextBytes = 64 * 1024 * 1024;
const source = (format: 'email' | 'html' | 'json', text: string) => ({
  format,
  bytes: bytesOf(text),
  maxTextBytes,
  depth: 0,
});
const whole = (cutter: cuts.Cutter) => (text: string) => cutter(text, 0, text.length);

/** Each letter is a token, so that a text has as many as can be. */
const letterTokens = {
  encode: (text: string, maxTokens: number) => Array.from(text.slice(0, maxTokens), (letter) => letter.charCodeAt(0)),
  start: [0],
  end: [1],
};

export const textFunctions: Record<string, Record<string, Run>> = {
  'src/engine/chunk/blocks.ts': {
    ...Object.fromEntries(
      formats.map((format) => [`plainBlocks ${format}`, (text: string) => plainBlocksOf.plainBlocks(text, format)]),
    ),
    markdownBlocks,
    plainLabel,
  },
  'src/engine/chunk/chunk.ts': {
    ...Object.fromEntries(
      formats.map((format) => [
        `chunk ${format}`,
        (text: string) => chunk(text, { ...options, format, title: text, place: text }),
      ]),
    ),
    createContexts: (text) =>
      createContexts({ title: text, place: text }, measure).of({
        start: 0,
        end: 1,
        kind: 'prose',
        level: 0,
        path: [text, text],
      }),
    withContext: (text) => withContext(text, text),
    chunkTurns: (text) => {
      const turns = [0, 1, 2, 3].map((part) => ({ part, start: Math.floor((part * text.length) / 4) }));
      const length = Math.floor(text.length / 4);
      const places = turns.map(({ part, start }) => ({ start, length, isMachine: part % 2 === 1 }));
      return chunkTurns(text, places, { ...options, format: 'conversation', title: text });
    },
  },
  'src/engine/chunk/cuts.ts': {
    lineCuts: whole(cuts.lineCuts),
    blankLineCuts: whole(cuts.blankLineCuts),
    definitionCuts: whole(cuts.definitionCuts),
    outdentCuts: whole(cuts.outdentCuts),
    itemCuts: whole(cuts.itemCuts),
    sentenceCuts: whole(cuts.sentenceCuts),
    contentEnd: (text) => contentEnd(text, 0, text.length),
    contentStart: (text) => contentStart(text, 0, text.length),
  },

  'src/engine/extract/manual/roff.ts': {
    argumentsOf,
    withoutEscapes: (text) => withoutEscapes(text, new Map()),
    pageOf,
  },

  'src/engine/extract/manual/manual.ts': {
    tableRows: (text) => tableRows(text.split('\n'), (line) => line),
    manualText,
    'manualText man': (text) => manualText(`.TH A 1\n.SH ${text}`),
    'manualText mdoc': (text) => manualText(`.Dd A\n.Sh ${text}`),
    'manualText table': (text) => manualText(`.TH A 1\n.TS\nl.\n${text}`),
    'manualText if': (text) => manualText(`.TH A 1\n.if n ${text}`),
  },
  'src/engine/extract/manual/mdoc.ts': {
    isInlineMacro,
    closes,
    createLineReader: (text) =>
      createLineReader(
        (word) => word,
        () => text,
      )(argumentsOf(text)),
  },

  'src/engine/extract/rtf.ts': { richText: (text) => attempt(() => richText(bytesOf(`{\\rtf1 ${text}`))) },
  'src/engine/extract/charset.ts': {
    decodeText: (text) => decodeText(Buffer.from(text, 'latin1')),
    declaredCharset: (text) => declaredCharset(bytesOf(text)),
  },
  'src/engine/extract/extracted.ts': { cleanText },
  'src/engine/extract/office-xml.ts': { readXmlEvents: (text) => readXmlEvents(text, { text() {} }) },
  'src/engine/extract/xlsx.ts': {
    workbookText: (text) =>
      workbookText(
        makeZip([
          ['xl/workbook.xml', '<workbook><sheets><sheet r:id="a"/></sheets></workbook>'],
          ['xl/_rels/workbook.xml.rels', '<Relationship Id="a" Target="sheet.xml"/>'],
          ['xl/sheet.xml', `<row><c t="str"><v>${text}</v></c></row>${text}`],
          ['xl/sharedStrings.xml', text],
        ]),
      ),
  },
  'src/engine/extract/pptx.ts': {
    chartText,
    presentationText: (text) =>
      presentationText(
        makeZip([
          ['ppt/presentation.xml', '<p:sldId r:id="a"/>'],
          ['ppt/_rels/presentation.xml.rels', `<Relationship Id="a" Target="slide.xml"/>${text}`],
          ['ppt/slide.xml', `<p:sp><a:p><a:t>${text}</a:t></a:p></p:sp>${text}`],
        ]),
      ),
  },
  'src/engine/extract/plain.ts': {
    isCalendar,
    calendarText: (text) => calendarText(`BEGIN:VCALENDAR\nBEGIN:VEVENT\n${text}\nEND:VEVENT`),
    jsonText: plain.jsonText,
    jsonLinesText: plain.jsonLinesText,
    notebookText: (text) =>
      plain.notebookText(JSON.stringify({ cells: [{ cell_type: 'code', source: text, outputs: [{ text }] }] })),
    fenced: (text) => plain.fenced(text, ''),
    embedded: (text) => plain.embedded({ text, format: 'markdown', title: null, type: 'text' }),
    plainText: plain.plainText,
    markdownText: plain.markdownText,
    'markdownText with front matter': (text) => plain.markdownText(`---\n${text}\n---\n${text}`),
    codeText: (text) => plain.codeText(text, undefined),
    demoteHeadings: (text) => plain.demoteHeadings(text, 2),
    isoDate: plain.isoDate,
  },
  'src/engine/extract/docx.ts': { withFormulas },
  'src/engine/extract/opendocument.ts': {
    openDocumentText: (text) =>
      openDocumentText(makeZip([['content.xml', `<text:p>${text}</text:p><table:table><text:p>${text}`]])),
  },
  'src/engine/extract/convert.ts': {
    'convert email': (text) => convert(source('email', `From: a@b.c\r\n${text}`)),
    'convert email with a body': (text) =>
      convert(
        source(
          'email',
          `From: a@b.c\nSubject: ${text.replaceAll('\n', ' ').slice(0, 200)}\nContent-Type: text/html\n\n${text}`,
        ),
      ),
  },
  'src/engine/extract/csv.ts': {
    csvText: (text) => csvText(text),
    markdownTable: (text) => markdownTable([[text, text], [text]]),
    'markdownTable of one wide row': (text) => markdownTable([[...text], ...[...text].map((cell) => [cell])]),
    'markdownTable of lines': (text) => markdownTable(text.split('\n').map((line) => [line])),
  },
  'src/engine/extract/detect.ts': {
    detect: (text) => attempt(() => detect(bytesOf(text))),
    'detect by name': (text) => attempt(() => detect(bytesOf('a'), text, text)),
    isHtmlPage,
    typeOfFile: (text) => typeOfFile(bytesOf(text), text, text),
  },
  'src/engine/extract/dom.ts': {
    parseHtml,
    parseXml: (text) => attempt(() => parseXml(text)),
    isTooDeep: (text) => isTooDeep(text, 'html'),
    'isTooDeep as XML': (text) => isTooDeep(text, 'xml'),
  },
  'src/engine/extract/feed.ts': {
    feedText: (text) => attempt(() => feed.feedText(`<rss><channel><title>a</title><item><description>${text}`)),
    svgText: (text) => attempt(() => feed.svgText(`<svg><text>${text}`)),
    xmlText: feed.xmlText,
  },
  'src/engine/extract/html.ts': {
    'htmlText of a page': (text) =>
      htmlText(`<html><head><title>a</title></head><body><h1>a</h1>${text}</body></html>`, {
        page: true,
        url: 'http://a.b/c',
      }),
    'htmlText of a fragment': (text) => htmlText(text, {}),
  },

  'src/engine/extract/languages.ts': { formatOfName, formatOfMimeType, languageOfScript },

  'src/engine/extract/pdf.ts': {
    pageText: (text) =>
      pageText(
        text.split('\n').map((str, index) => ({
          str,
          hasEOL: true,
          width: 10,
          height: 10,
          transform: [1, 0, 0, 1, 0, 1000 - index],
          fontName: 'a',
          dir: 'ltr',
        })) as never,
      ),
  },

  'src/engine/conversations.ts': { renderMessages: (text) => renderMessages([{ role: 'user', text, name: text }]) },
  'src/engine/joined-text.ts': {
    'joinedText stored': (text) => joinedText(text, `${text}\nmore`),
    'joinedText halves': (text) => joinedText(text, text.slice(text.length >> 1)),
    'joinedText other': (text) => joinedText(text, [...text].toReversed().join('')),
  },
  'src/engine/languages.ts': { stem, stemGerman, languagesOf: (text) => languagesOf(text.split(' ')) },

  'src/engine/terms.ts': {
    terms,
    queryTerms,
    queryWords,
    languagesOfText,
    compoundParts: (text) => compoundParts(text, 'de'),
  },
  'src/engine/text/text-worker.ts': {
    'extract text': (text) => tasks.extract({ kind: 'text', text, maxTextBytes }),
    'prepare text': (text) =>
      tasks.prepare({
        input: { kind: 'text', text, maxTextBytes },
        cutting: { maxTokens: 32, overlapTokens: 8, tokens: { kind: 'words' }, title: text, place: text },
      }),
    turns: (text) => tasks.turns({ text }),
    statements: (text) => tasks.statements(unitOf(text)),
  },
  'src/memory/authors.ts': { nameOf, isSamePerson: (text) => isSamePerson(text, text) },
  'src/memory/memories.ts': { topicOf },
  'src/memory/memory-rows.ts': { memoryHash, wordsHashOf: (text) => wordsHashOf(text, [text]) },
  'src/memory/policy.ts': { isTranscript: (text) => isTranscript(turnsOfText(text)) },
  'src/memory/rules/clauses.ts': { clausesOf },
  'src/memory/rules/dates.ts': {
    findDates: (text) => findDates(text, said),
    dayNamedBy,
    isPutOff,
    dayOrderOf: (text) => dayOrderOf([text]),
    momentOfStamp: (text) => momentOfStamp(text, 'day first', said),
  },
  'src/memory/rules/extract.ts': {
    rules: (text) => rules.extract(unitOf(text)),
    isEnglish,
    episodeOf: (text) => episodeOf(turnOf(text), [{ text, start: 0 }], unitOf(text), 'Ana'),
  },
  'src/memory/rules/facts.ts': {
    factsOf: (text) => factsOf(turnOf(text), sentencesOfLength(text, 420), unitOf(text), 'Ana'),
    withDates: (text) => withDates(text, []),
  },
  'src/memory/rules/key-words.ts': { keyWords, thingWords, normalValue },
  'src/memory/rules/measures.ts': { ownless, ownerOf, ofNoSpeaker: (text) => ofNoSpeaker(text, text), nameOfThing },
  'src/memory/rules/people.ts': { personIn, subjectKey },
  'src/memory/rules/predicate.ts': { predicateOf },
  'src/memory/rules/sentences.ts': { sentencesOf },
  'src/memory/rules/statement.ts': { statementOf: (text) => statementOf(text, 'Ana', null) },
  'src/memory/rules/third-person.ts': {
    isAdverb,
    expanded,
    inThirdPerson: (text) => inThirdPerson(text, 'Ana', { strict: true }),
  },
  'src/memory/rules/turns.ts': {
    turnsOfText,
    conversationOf: (text) => conversationOf(text, true),
    turnsOfMessages: (text) =>
      turnsOfMessages(
        text.split('\n').map((line) => ({ role: 'user' as const, text: line })),
        text,
      ),
  },
  'src/memory/rules/verbs.ts': { verbForms, baseOf: (text) => baseOf(text, 'past'), thirdPersonOf },
  'src/models/comparison.ts': {
    comparisonOf: (text) => comparisonOf(letterTokens, text, { texts: [text, text], maxTokens: text.length }),
  },
  'src/models/token-counting.ts': {
    words: createTokenCounter({ kind: 'words' }),
    estimateTokens,
    cutToTokens: (text) => cutToTokens(text, 1000),
  },
  'src/search/rerank.ts': {
    signsOfAnswer: (text) => signsOfAnswer(text)(text, 'turn'),
  },
  'src/search/read-query.ts': {
    wordingsOf,
    keywordsOf: (text) =>
      keywordsOf(
        text,
        queryWords(text).map(({ forms }) => forms),
      ),
    periodsOf: (text) => periodsOf(text, said),
  },
  'src/mcp/text.ts': { oneLine, shortLine },
  'src/mcp/fence.ts': { quoted },
  'src/api/body.ts': {
    checkBounds: (text) => attempt(() => jsonTextBounds.checkBounds(text)),
    storableJson: (text) => jsonTextBounds.storableJson({ text }, JSON.stringify({ text })),
    storableField: (text) => attempt(() => jsonTextBounds.storableField('customId', text)),
    requireStorable: (text) => attempt(() => jsonTextBounds.requireStorable('customId', text)),
  },
  'src/api/validation.ts': { momentOf },
  'src/api/document-input.ts': {
    dateOf: (text) => attempt(() => dateOf(text)),
    contentOf: (text) => attempt(() => contentOf(text, maxTextBytes)),
  },
  'src/api/v5/document-input.ts': {
    addedDocumentOf: (text) => attempt(() => addedDocumentOf({ content: text }, maxTextBytes)),
    documentChangeOf: (text) => attempt(() => documentChangeOf({ content: `a://${text}` }, maxTextBytes)),
  },
  'src/api/v5/routes/profile.ts': {
    profileAsMarkdown: (text) => profileAsMarkdown({ static: [{ memory: text }], dynamic: [], buckets: {} }),
  },
  'src/api/routes/authorizations.ts': {
    authorizationPage: (text) => authorizationPage({ title: text, text }),
  },
  'src/base/config.ts': { withoutCredentials },
  'src/base/normalized.ts': { normalized: (text) => [normalized(text, 'NFC'), normalized(text, 'NFKC')] },
  'src/cli/start.ts': { readableLogLine },
  'src/cli/options.ts': {
    beginning: (text) => attempt(() => beginning(text)),
    pastMoment: (text) => attempt(() => pastMoment(text)),
    fraction: (text) => attempt(() => fraction(text)),
  },
  'src/cli/text.ts': {
    displayWidth,
    oneLine: shownLine,
    truncate: (text) => truncate(text, 80),
    wrap: (text) => wrap(text, 80),
    'wrap in one line': (text) => wrap(text, Infinity),
  },
  'src/schedule/schedule-text.ts': {
    parseAllowedHours: (text) => attempt(() => parseAllowedHours(text)),
    parseSchedule: (text) => attempt(() => parseSchedule(text)),
  },
  'src/base/storable.ts': { isStorable, storableText },
  'src/sync/check-item.ts': { readInline: (text) => attempt(() => readInline(text)) },
  'src/base/retry-after.ts': { readHttpDate },

  'src/store/search/candidates.ts': { textLiteral },
  'src/store/sql.ts': { containsText: (text) => containsText([rawSql('d.title')], text) },
  'src/api/admission.ts': { wrongKey: (text) => wrongKey(0, text) },
  'src/api/filters.ts': { parseFilters: (text) => attempt(() => parseFilters(text)) },
  'src/api/file-form.ts': {
    readFileForm: (text) =>
      attempt(() =>
        readFileForm(
          streamOf(
            `--edge\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${text}\r\n--edge--\r\n`,
          ),
          'multipart/form-data; boundary=edge',
          maxTextBytes,
        ),
      ),
    'readFileForm with a field': (text) =>
      attempt(() =>
        readFileForm(
          streamOf(`--edge\r\ncontent-disposition: form-data; name="metadata"\r\n\r\n${text}\r\n--edge--\r\n`),
          'multipart/form-data; boundary=edge',
          maxTextBytes,
        ),
      ),
    'readFileForm of a content type': (text) => attempt(() => readFileForm(streamOf('a'), text, maxTextBytes)),
  },
  'src/base/did-you-mean.ts': { nearest: (text) => nearest(text, ['customId', 'metadata']) },
};

/** The text in sentences as long as facts are looked for in. */
function sentencesOfLength(text: string, length: number) {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, place) => ({
    text: text.slice(place * length, (place + 1) * length),
    start: place * length,
  }));
}

/** What is refused is done with, too. */
async function attempt(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch {
    // Whether it is refused is for other tests.
  }
}

const parts = 'measured as a part of chunk';
const library = 'its time is that of a library, under the limits of text work';
const sentences = 'sees sentences of at most 420 characters; measured by factsOf';
const notText = 'its strings are names, ids or messages of our own';
const bounded = 'looks at a bounded part, or once at each byte';

/** What is exported next to these and is not measured by itself, with the reason. */
export const notMeasured: Record<string, Record<string, string>> = {
  'src/api/views.ts': { listedDocumentView: bounded },
  'src/base/config-groups.ts': { oauthClient: notText },
  'src/base/config-file.ts': { parseConfigFile: 'reads a file of the operator' },
  'src/base/log.ts': { createLogger: notText },
  'src/cli/connection-choice.ts': { chooseConnections: notText, chooseConnection: notText },
  'src/cli/context.ts': { paint: notText },
  'src/cli/search.ts': {
    formatSearch: 'shows chunks',
    snippet: 'sees one chunk',
    queryWords: 'measured by queryTerms',
  },
  'src/memory/llm/resolve-facts.ts': { memoriesNear: 'searches the database' },
  'src/api/request.ts': { isProvider: notText },
  'src/api/file-form.ts': { readForm: 'measured by readFileForm' },
  'src/memory/find-memory.ts': { findMemory: notText },
  'src/memory/forgetting.ts': { forget: notText, forgetEach: notText },
  'src/schedule/connection-schedule.ts': { requireSchedule: 'measured by parseSchedule' },
  'src/source/rate-limit/limited-answers.ts': { readReset: bounded },
  'src/search/explain.ts': { explained: notText },
  'src/engine/extract/extracted.ts': { failed: notText, finish: 'measured by convert' },
  'src/models/token-counting.ts': {
    parseTokenizer: 'reads a file of the operator',
    parseTokenizerJson: 'reads a file of the operator',
  },
  'src/models/transformer-embedder.ts': { frameTokens: notText },
  'src/store/memory-lists.ts': { lockByText: 'compares in the database' },
  'src/store/sql.ts': { rawSql: notText },
  'src/engine/chunk/blocks.ts': { lineEnd: parts },
  'src/engine/chunk/cuts.ts': { createMeasure: parts, sizePieces: parts, toUnits: parts },

  'src/engine/extract/charset.ts': { isWideText: bounded },

  'src/engine/extract/archive.ts': { archiveText: 'measured by convert', gzipText: 'measured by convert' },
  'src/engine/extract/docx.ts': { docxText: library },
  'src/engine/extract/epub.ts': { bookText: 'measured by htmlText' },
  'src/engine/extract/parts.ts': {
    readZip: bounded,
    openParts: bounded,
    relationsOf: 'measured by workbookText',
    resolvePart: parts,
  },
  'src/engine/extract/email.ts': { emailText: 'measured by convert', mailText: 'measured by convert' },
  'src/engine/extract/detect.ts': { sniffMagic: bounded, isBinary: bounded },
  'src/engine/extract/markdown-writer.ts': { createMarkdownWriter: 'measured by htmlText' },
  'src/engine/extract/outlook.ts': { outlookText: library },
  'src/engine/extract/pdf.ts': { pdfText: library },
  'src/memory/buckets.ts': { classify: 'sees one statement', containerBuckets: notText },
  'src/memory/supersede.ts': { isInContext: notText },
  'src/memory/memory-rows.ts': { indexTexts: 'measured by memoryHash, wordsHashOf and terms' },
  'src/memory/rules/attribute.ts': { takesPlaceOf: sentences },
  'src/memory/rules/attributes.ts': {
    attributeOf: sentences,
    scheduled: sentences,
    dueBy: sentences,
    repeated: sentences,
  },
  'src/memory/rules/facts.ts': { isFact: sentences },
  'src/memory/rules/measures.ts': { measureOf: sentences },
  'src/memory/rules/personal.ts': { isPerson: sentences, personal: sentences },
  'src/memory/rules/turns.ts': { turnsWithin: 'measured by rules' },
  'src/memory/rules/verbs.ts': { tells: 'one look into a set' },
  'src/memory/statement.ts': { statementOf: 'sees one statement' },
  'src/memory/remember.ts': { unitsOf: 'measured by turns and statements' },
};
