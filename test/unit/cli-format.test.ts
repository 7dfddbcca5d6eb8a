import { describe, expect, test } from 'vitest';
import type { SearchHit } from '../../src/cli/client.ts';
import type { ConnectionAnswer } from '../../src/cli/client-connections.ts';
import { connectionTable, type ConnectionState } from '../../src/cli/connection-table.ts';
import { readableLogLine, welcome } from '../../src/cli/start.ts';
import {
  createRateMeter,
  isFinished,
  progressLine,
  progressSummary,
  type ProgressView,
} from '../../src/cli/progress.ts';
import { formatSearch, matcher, queryWords, snippet } from '../../src/cli/search.ts';
import { formatStatus } from '../../src/cli/status.ts';
import { createStatusLine } from '../../src/cli/status-line.ts';
import { counted, displayWidth, duration, localTime, oneLine, table, truncate, wrap } from '../../src/cli/text.ts';
import { createScreen } from '../support/command-line.ts';

describe('text', () => {
  test('of documents cannot steer the terminal', () => {
    const hostile = 'a\u001b[31mred\u001b[0m\u001b]0;title\u0007 b\r\nc\td\u0000\u0008\u009b2J\u202e!';
    expect(oneLine(hostile)).toMatch(/^ared b c d[2J]*!$/);
    expect(oneLine(hostile)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });

  test.each([
    ['abc', 3],
    ['日本語', 6],
    ['e\u0301', 1],
    ['👍', 2],
    ['', 0],
  ])('%j is %i columns wide', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  test.each([
    ['short', 10, 'short'],
    ['exactly ten', 11, 'exactly ten'],
    ['a little too long', 10, 'a little…'],
    ['日本語日本語', 7, '日本語…'],
  ])('%j is cut to %i columns', (text, columns, cut) => {
    expect(truncate(text, columns)).toBe(cut);
    expect(displayWidth(truncate(text, columns))).toBeLessThanOrEqual(columns);
  });

  test('is wrapped at spaces, and inside words that are too long', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('abcdefghij kl', 4)).toEqual(['abcd', 'efgh', 'ij', 'kl']);
    expect(wrap('日本語日本語', 5)).toEqual(['日本', '語日', '本語']);
    expect(wrap('', 5)).toEqual([]);
  });

  test('in tables stands in columns', () => {
    expect(
      table(
        ['A', 'LONG'],
        [
          ['日本', 'x'],
          ['b', 'y\u001b[2J'],
        ],
        80,
      ),
    ).toEqual(['A     LONG', '日本  x', 'b     y']);
    expect(table(['A', 'B'], [['x', 'y'.repeat(90)]], 50)[1]).toBe(`x  ${'y'.repeat(46)}…`);
    expect(table(['A', 'B'], [['x', `/${'y'.repeat(90)}/end`]], 50)[1]).toBe(`x  …${'y'.repeat(42)}/end`);
    expect(table(['A'], [['x'.repeat(90)]], Infinity)[1]).toHaveLength(90);
    const rows = ['one', 'two'].map((name) => [`${'folder/'.repeat(9)}note ${name}.md`, 'done']);
    const tellApart = ['…der/folder/note one.md  done', '…der/folder/note two.md  done'];
    expect(table(['ITEM', 'STATE'], rows, 30, { cuttable: [0], paths: [0] }).slice(1)).toEqual(tellApart);
  });

  test.each([
    [900, '1 s'],
    [59_400, '59 s'],
    [60_000, '1 min'],
    [3_599_000, '1 h'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [-5, '0 s'],
  ])('%i ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test('of times and counts', () => {
    expect(localTime('2026-03-01T09:30:00.000Z')).toMatch(/^2026-0[23]-\d\d \d\d:[03]0$/);
    expect(localTime(null)).toBe('-');
    expect(localTime('nonsense')).toBe('-');
    expect(counted(1, 'document')).toBe('1 document');
    expect(counted(1200, 'document')).toBe('1,200 documents');
  });
});

describe('snippet', () => {
  const filler = 'Lorem ipsum dolor sit amet consectetur. '.repeat(30);

  test('words that say nothing are not looked for', () => {
    expect(queryWords('How does Mira like to get the updates?')).toEqual(['mira', 'like', 'get', 'updat']);
    expect(queryWords('鍵')).toEqual(['鍵']);
    expect(matcher(queryWords('how does the'))).toBeNull();
  });

  test.each([
    ['rotating keys', 'Keys are rotated; donkeys are not.', ['Keys', 'rotated']],
    ['update', 'updates and Updated, but no backdate', ['updates', 'Updated']],
    ['鍵', '毎月鍵を交換', ['鍵']],
    ['c++ (new)', 'a new day', ['new']],
  ])('%j marks in %j %j', (query, text, marked) => {
    expect(text.match(matcher(queryWords(query))!)).toEqual(marked);
  });

  test('shows the place with the most different words', () => {
    const text = `${filler}keys keys keys. ${filler}Rotate the signing keys monthly. ${filler}`;
    const lines = snippet(text, queryWords('rotate signing keys'), { columns: 60, lines: 3 });
    expect(lines).toHaveLength(3);
    expect(lines.join(' ')).toContain('Rotate the signing keys');
    expect(lines[0]!.startsWith('…')).toBe(true);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(60);
  });

  test('begins at the start when the match is there, and is whole when it is short', () => {
    expect(snippet(`Rotate keys. ${filler}`, ['rotat'], { columns: 60, lines: 2 })[0]).toMatch(/^Rotate keys\. Lorem/);
    expect(snippet('Short\ntext', ['none'], { columns: 60, lines: 2 })).toEqual(['Short text']);
    expect(snippet(filler, [], { columns: 60, lines: 2 }).at(-1)).toMatch(/…$/);
  });
});

describe('search results', () => {
  const hit = (fields: Partial<SearchHit>): SearchHit => ({
    id: 'chunk-1',
    similarity: 0.874,
    metadata: null,
    updatedAt: '2026-03-01T09:30:00.000Z',
    ...fields,
  });
  const results = [
    hit({
      chunk: 'Keys are rotated every month.',
      filepath: 'ops/keys.md',
      documents: [{ id: 'd1', title: 'Key\u001b[2J rotation' }],
    }),
    hit({ memory: 'Mira rotates the keys', similarity: 0.6 }),
    hit({ chunk: 'Nothing to mark', similarity: 0.5, filepath: 'ops/other.md' }),
  ];

  test('show rank, similarity, title, path and text', () => {
    const lines = formatSearch({ results, total: 3, timing: 5 }, 'who rotates keys', createScreen());
    expect(lines).toEqual([
      '1.  0.87  Key rotation',
      '    ops/keys.md',
      '    Keys are rotated every month.',
      '',
      '2.  0.60  Memory',
      '    Mira rotates the keys',
      '',
      '3.  0.50  ops/other.md',
      '    Nothing to mark',
    ]);
  });

  test('say what they are, whether it was told, when, by whom and where, and the id of what can be corrected', () => {
    const source = { documentId: 'd', title: 'Chat', filepath: null, date: '2026-03-02T12:00:00Z' };
    const more = { kind: 'fact', trust: 'told', author: 'Mira', saidAt: '2026-03-04T12:00:00Z' } as const;
    const told = { ...hit({ memory: 'Mira sails' }), ...more, containerTag: 'user_mira', sources: [source] };
    const read = { ...hit({ chunk: 'Sails' }), kind: 'passage', trust: 'read', author: null, saidAt: null } as const;
    const both = [told, { ...read, containerTag: 'team', sources: [source] }];
    const lines = formatSearch({ results: both, total: 2, timing: 5 }, 'x', createScreen({ columns: 80 }));
    expect(lines[1]).toBe(`    fact, told, 2026-03-04, by Mira, in user_mira, ${told.id}`);
    expect(lines[5]).toBe('    passage, read, 2026-03-02, in team');
  });

  test('mark the words of the query when colours are wanted', () => {
    const lines = formatSearch({ results, total: 3, timing: 5 }, 'rotates', createScreen({ color: true }));
    expect(lines[2]).toMatch(/Keys are \u001b\[1m\u001b\[33mrotated\u001b\[\d+m\u001b\[\d+m every month\./);
  });

  test('fit the terminal', () => {
    const long = hit({
      chunk: 'word '.repeat(200),
      filepath: 'x'.repeat(99),
      documents: [{ id: 'd', title: 't'.repeat(99) }],
    });
    for (const columns of [40, 60, 200]) {
      const lines = formatSearch({ results: [long], total: 1, timing: 1 }, 'word', createScreen({ columns }));
      expect(lines).toHaveLength(5);
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(Math.min(columns, 110));
    }
  });
});

describe('progress', () => {
  type Run = NonNullable<ProgressView['run']>;
  const view = ({
    run,
    ...fields
  }: Partial<Omit<ProgressView, 'run'>> & { run?: Partial<Run> } = {}): ProgressView => ({
    items: { pending: 30, failed: 2, skipped: 0 },
    documents: { waiting: 2, done: 280, failed: 1 },
    heldDeletes: 0,
    ...fields,
    run: { id: 'R2', status: 'running', itemsSeen: 1312, itemsTotal: 1312, error: null, ...run },
  });

  test('is seen, done, failed, rate and time left', () => {
    expect(progressLine(view(), 16)).toBe('1,312 seen, 280 done, 2 failed, 16/s, 2 s left');
    expect(progressLine(view(), 1.25)).toBe('1,312 seen, 280 done, 2 failed, 1.3/s, 26 s left');
    expect(progressLine(view(), null)).toBe('1,312 seen, 280 done, 2 failed');
    expect(progressLine(view(), 0)).toBe('1,312 seen, 280 done, 2 failed');
    const documents = { waiting: 900, foundByWords: 800, done: 280, failed: 1 };
    expect(progressLine(view({ documents }), null)).toBe('1,312 seen, 800 found by words, 280 done, 2 failed');
  });

  test('tells no time while nobody knows how much there is', () => {
    expect(progressLine(view({ run: { itemsTotal: null } }), 16)).not.toContain('left');
    expect(progressLine(view({ run: { itemsTotal: null, status: 'completed' } }), 16)).toContain('left');
    expect(progressLine({ ...view(), run: null }, null)).toBe('0 seen, 280 done, 2 failed');
    const none = { items: { pending: 0, failed: 0, skipped: 0 }, documents: { waiting: 0, done: 0, failed: 0 } };
    const begun = { ...view().run!, itemsSeen: 0, itemsTotal: null };
    expect(progressLine({ ...view(none), run: begun }, null)).toBe('looking at what is there');
    expect(progressLine({ ...view(none), run: { ...begun, status: 'completed' } }, null)).toBe(
      '0 seen, 0 done, 0 failed',
    );
  });

  test('is over when the run ended and its documents can be found', () => {
    const none = { waiting: 0, done: 1, failed: 0 };
    expect(isFinished(view({ documents: none }))).toBe(false);
    expect(isFinished({ ...view({ documents: none }), run: null })).toBe(false);
    expect(isFinished(view({ run: { status: 'completed' } }))).toBe(false);
    expect(isFinished(view({ run: { status: 'completed' }, documents: none }))).toBe(true);
    expect(isFinished(view({ run: { status: 'completed' }, documents: none }), 'R2')).toBe(true);
    expect(isFinished(view({ run: { status: 'completed' }, documents: none }), 'R3')).toBe(false);
    expect(isFinished(view({ run: { status: 'failed' } }))).toBe(true);
  });

  test('ends in a summary that names what is left', () => {
    const clean = { items: { pending: 0, failed: 0, skipped: 4 }, documents: { waiting: 0, done: 280, failed: 0 } };
    expect(progressSummary(view(clean), 38_000, 'C1')).toEqual(['1,312 seen, 280 done, 0 failed, 4 skipped in 38 s']);
    expect(progressSummary(view({ run: { error: 'folder is gone' }, heldDeletes: 3 }), 1000, 'C1')).toEqual([
      '1,312 seen, 280 done, 2 failed in 1 s',
      'The sync ended early: folder is gone',
      '30 items will be tried again by itself.',
      '`memoryd failures C1` says why.',
      '3 deletions held back: the source shows far fewer items than before. ' +
        '`memoryd sync C1 --confirm-deletes` deletes them, `memoryd sync C1 --keep-deletes` keeps them.',
    ]);
  });

  test('measures the rate over the last 15 seconds', () => {
    const rate = createRateMeter();
    expect(rate(100, 0)).toBeNull();
    expect(rate(110, 1000)).toBe(10);
    expect(rate(110, 10_000)).toBe(1);
    expect(rate(170, 16_500)).toBeCloseTo(60 / 6.5);
    expect(rate(0, 17_000)).toBe(0);
  });
});

describe('the line at the bottom', () => {
  test('is written over in a terminal, and other text stands above it', () => {
    const screen = createScreen({ isTTY: true, columns: 10 });
    const line = createStatusLine(screen);
    line.above('log 0\n');
    line.show('1 of 2');
    line.above('log 1\n');
    line.show('a line too long for it');
    line.clear();
    line.clear();
    const erase = '\r\u001b[2K';
    expect(screen.text()).toBe(`log 0\n1 of 2${erase}log 1\n1 of 2${erase}a line t…${erase}`);
  });

  test('is plain lines elsewhere', () => {
    const screen = createScreen({ columns: 10 });
    const line = createStatusLine(screen);
    line.show('a line too long for it');
    line.above('log\n');
    line.clear();
    expect(screen.text()).toBe('a line too long for it\nlog\n');
  });
});

test('log lines are readable in a terminal', () => {
  const entry = { level: 40, time: '2026-03-01T09:30:05.000Z', msg: 'sync failed', items: 3, path: './a b', tag: 'x' };
  expect(readableLogLine(JSON.stringify(entry))).toMatch(
    /^\d\d:\d\d:05 warn {2}sync failed {2}items=3 {2}path="\.\/a b" {2}tag=x\n$/,
  );
  const err = { message: 'no space', stack: 'Error: no space\n    at x' };
  expect(readableLogLine(JSON.stringify({ level: 50, time: entry.time, msg: 'stopped', err }))).toMatch(
    / error stopped {2}err="no space"\nError: no space\n {4}at x\n$/,
  );
  const audit = { action: 'key.create', keyName: 'local token', target: null, count: 1 };
  expect(readableLogLine(JSON.stringify({ level: 30, time: entry.time, msg: 'audit', audit, letGo: null }))).toMatch(
    / info {2}audit {2}action=key\.create {2}keyName="local token" {2}count=1\n$/,
  );
  expect(readableLogLine('not JSON\n')).toBe('not JSON\n');
});

describe('welcome', () => {
  const introduction = {
    version: '1.2.3',
    role: 'all',
    url: 'http://127.0.0.1:6767',
    firstKey: 'sm_new',
    namespace: 'sm_project_default',
    consoleLink: 'http://127.0.0.1:6767/#/sign-in/token',
    storage: '/data',
    dataDirOption: '',
    screen: createScreen(),
  } as const;

  test('shows a new key once, and what to do with it', () => {
    const text = welcome(introduction).join('\n');
    expect(text).toContain('memoryd 1.2.3 runs at http://127.0.0.1:6767\nData: /data\n');
    expect(text).toContain('API key (shown only this once, keep it):\n  sm_new\n');
    expect(text).toContain("curl http://127.0.0.1:6767/ns/sm_project_default/search -H 'Authorization: Bearer sm_new'");
    expect(text).toContain('npx memoryd search "');
    expect(text).toContain("new Supermemory({ baseURL: 'http://127.0.0.1:6767', apiKey: 'sm_new' })");
  });

  test('names the data directory in commands that would not find it', () => {
    const text = welcome({ ...introduction, dataDirOption: ' --data-dir /data' }).join('\n');
    expect(text).toContain('`npx memoryd open --data-dir /data` does it again');
    expect(text).toContain('npx memoryd connect folder ./notes --data-dir /data\n');
  });

  test('is short at later starts and for processes without the API', () => {
    expect(welcome({ ...introduction, firstKey: null })).toEqual([
      'memoryd 1.2.3 runs at http://127.0.0.1:6767',
      'Data: /data',
      '',
      'The console, in a browser (signs in once, within five minutes; `npx memoryd open` does it again):',
      '  http://127.0.0.1:6767/#/sign-in/token',
      '',
      'Press Ctrl-C to stop.',
    ]);
    expect(welcome({ ...introduction, role: 'worker' })).toEqual(['memoryd 1.2.3 runs as worker. Data: /data']);
  });
});

describe('status', () => {
  const connection: ConnectionAnswer = {
    id: 'nTPkyRFA6CAFjF1YveCHK1',
    provider: 'folder',
    createdAt: '2026-03-01T09:00:00.000Z',
    status: 'active',
    containerTag: 'handbook',
    metadata: { path: '/srv/notes' },
    documentCount: 118,
    lastSyncRun: { status: 'completed', completedAt: null },
  };

  test('counts what is on its way as waiting', () => {
    const status = {
      version: '1.2.3',
      uptimeMs: 3_600_000,
      role: 'all',
      storage: { engine: 'pglite', dataDir: '/data' },
      queue: { kind: 'in-process' },
      embedder: { id: 'minilm-l6-v2', runtime: 'onnxruntime-node', state: 'ready' },
      documents: { queued: 2, embedding: 1, done: 117, failed: 1 },
    };
    expect(formatStatus(status, [], 'http://127.0.0.1:6767', createScreen())).toEqual([
      'memoryd 1.2.3 at http://127.0.0.1:6767, up for 1 h',
      'storage    pglite in /data',
      'queue      in-process, role all',
      'model      minilm-l6-v2 on onnxruntime-node, ready',
      'documents  117 done, 3 waiting, 1 failed',
      '',
      'Nothing is connected.',
    ]);
    expect(formatStatus({ ...status, foundByWords: 1 }, [], 'http://127.0.0.1:6767', createScreen())).toContain(
      'documents  117 done, 3 waiting (1 found by words), 1 failed',
    );
    const slow = { ...status, embedder: { ...status.embedder, runtime: 'onnxruntime-web' } };
    expect(formatStatus(slow, [], 'http://127.0.0.1:6767', createScreen())).toContain(
      '           slow (WebAssembly); `memoryd doctor` says how to mend that',
    );
  });

  test('says when backups are made by themselves, and what is wrong with them', () => {
    const status = {
      ...{ version: '1.2.3', uptimeMs: 1, role: 'all', storage: { engine: 'pglite' }, queue: { kind: 'in-process' } },
      embedder: { id: 'minilm-l6-v2', runtime: 'onnxruntime-node', state: 'ready' },
      documents: {},
    };
    const [lastAt, nextAt] = ['2026-03-01T03:00:00', '2026-03-02T03:00:00'];
    const backups = { lastAt, nextAt, failure: null, isOverdue: false };
    const linesOf = (change: object) =>
      formatStatus({ ...status, backups: { ...backups, ...change } }, [], 'http://127.0.0.1:6767', createScreen());
    expect(linesOf({})).toContain('backups    last 2026-03-01 03:00, next 2026-03-02 03:00');
    expect(linesOf({ isOverdue: true })).toContain('backups    last 2026-03-01 03:00, next 2026-03-02 03:00, overdue');
    const failure = { at: '2026-03-02T03:00:00', reason: 'The disk is full.' };
    expect(linesOf({ lastAt: null, failure })).toContain(
      'backups    last -, next 2026-03-02 03:00, failed 2026-03-02 03:00: The disk is full.',
    );
  });

  test('names the language model where there is one', () => {
    const status = {
      ...{ version: '1.2.3', uptimeMs: 1, role: 'all', storage: { engine: 'pglite' }, queue: { kind: 'in-process' } },
      embedder: { id: 'minilm-l6-v2', runtime: 'onnxruntime-node', state: 'ready' },
      languageModel: { id: 'openai-compatible:llama3.2', state: 'budget spent', tokensToday: 1_200 },
      documents: {},
    };
    expect(formatStatus(status, [], 'http://127.0.0.1:6767', createScreen())).toContain(
      'language   openai-compatible:llama3.2, budget spent, 1200 tokens today',
    );
  });

  const progress: NonNullable<ConnectionState['progress']> = {
    items: { pending: 0, done: 118, failed: 0, skipped: 0 },
    documents: { waiting: 0, foundByWords: 0, done: 118, failed: 0 },
    heldDeletes: 0,
  };

  test('shows each connection, and why one needs a person', () => {
    const paused = { ...connection, status: 'needs_reauth', statusReason: 'The token was revoked.' } as const;
    const running = { ...connection, lastSyncRun: { status: 'running' } } as const;
    const failed = { ...connection, lastSyncRun: { status: 'failed', error: 'The disk is away.' } } as const;
    const states = [connection, paused, running, failed].map((one) => ({ connection: one, progress }));
    const lines = connectionTable(states, 120);
    expect(lines[0]).toMatch(/^ID +PROVIDER +NAMESPACE +STATE +DOCS +FAILED +LAST SYNC +TARGET$/);
    for (const [index, state] of ['active', 'needs_reauth', 'syncing', 'sync failed'].entries()) {
      expect(lines[index + 1]).toMatch(new RegExp(`folder +handbook +${state} +118 +0 +- +/srv/notes$`));
    }
    expect(lines.slice(5)).toEqual([
      '',
      'ID      NOTE',
      'nTPkyR  The token was revoked.',
      'nTPkyR  The disk is away. Its documents stay searchable.',
    ]);
  });

  test('a table cuts the columns that it may before it takes more room than there is', () => {
    const row = ['/srv/departments/engineering/notes/plan.md', 'failed', '2026-03-01 09:00', 'It is damaged.'];
    const lines = table(['ITEM', 'STATE', 'NEXT TRY', 'WHY'], [row], 60, { cuttable: [0] });
    expect(lines[1]).toBe('…neering/notes/plan.md  failed  2026-03-01 09:00  It is dam…');
    expect(table(['ITEM', 'STATE', 'NEXT TRY', 'WHY'], [row], Infinity, { cuttable: [0] })[1]).toBe(row.join('  '));
  });

  test('fits a terminal of 80 columns, with ids as long as it takes to tell them apart; programs get them whole', () => {
    const ids = ['nTPkyRFA6CAFjF1YveCHK1', 'nTPkyRFB6CAFjF1YveCHK1', 'ATbQgdM9mwZgikp4Wzxrxk'];
    const states = ids.map((id) => ({
      connection: {
        ...{ ...connection, id, provider: 'google-drive', status: 'needs_configuration', documentCount: 104_230 },
        ...{
          containerTag: 'a_rather_long_namespace',
          lastSyncRun: { status: 'failed', completedAt: '2026-03-01T09:00:00.000Z' },
        },
        metadata: { path: '/srv/departments/engineering/notes' },
      } as ConnectionAnswer,
      progress: { ...progress, items: { ...progress.items, failed: 1_204 } },
    }));
    const lines = connectionTable(states, 80).slice(0, 4);
    expect(lines.map(displayWidth).filter((width) => width > 80)).toEqual([]);
    expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(['nTPkyRFA', 'nTPkyRFB', 'ATbQgdM9']);
    expect(lines[1]).toMatch(/ needs_con… .* …ing\/notes$/);
    expect(connectionTable(states, Infinity)[1]).toContain(`${ids[0]}  google-drive  a_rather_long_namespace  needs`);
  });

  test('names what is not read, and the commands for held deletions and failures, whole in the narrowest terminal', () => {
    const troubled = {
      items: { ...progress.items, failed: 3, skipped: 4 },
      documents: { ...progress.documents, failed: 2 },
      heldDeletes: 12,
    };
    const problem = { state: 'paused', code: 'incomplete_listing', until: null } as const;
    const problems = [
      { ...problem, partition: '/srv/notes', title: 'notes', reason: 'Could not be read: locked (EACCES).' },
      { ...problem, partition: null, title: null, reason: 'It is listed every 60 s instead of watched.' },
    ];
    const lines = connectionTable([{ connection: { ...connection, problems }, progress: troubled }], 40);
    expect(lines[1]).toMatch(/active +118 +3 +-/);
    expect(lines.slice(4, 6)).toEqual([
      'nTPkyR  notes: Could not be read: locked (EACCES).',
      'nTPkyR  It is listed every 60 s instead of watched.',
    ]);
    expect(lines[6]).toContain('12 deletions held back');
    expect(lines[6]).toContain(`\`memoryd sync nTPkyR --confirm-deletes\``);
    expect(lines[6]).toContain(`\`memoryd sync nTPkyR --keep-deletes\``);
    expect(lines[7]).toBe(`nTPkyR  3 items failed, 4 items skipped: see \`memoryd failures nTPkyR\`.`);
  });
});
