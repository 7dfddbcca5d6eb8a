import { describe, expect, it } from 'vitest';
import { searchAsCurl, shellQuoted } from '../../../console/src/client-code.ts';
import { errorText } from '../../../console/src/error-text.ts';
import { formatAgo, formatBytes, formatDuration } from '../../../console/src/format.ts';
import { hrefOf, parseRoute } from '../../../console/src/address.ts';
import { changesOf } from '../../../console/src/run-changes.ts';
import { safeLink } from '../../../console/src/safe-link.ts';
import { sourceName } from '../../../console/src/source-state.ts';
import type { Connection } from '../../../console/src/types.ts';

describe('addresses within the page', () => {
  it('lead back to what they were made of', () => {
    const href = hrefOf(['documents', 'a/b ü?#'], { q: 'keys & more', ns: '' });
    const { path, query } = parseRoute(href);
    expect(path).toEqual(['documents', 'a/b ü?#']);
    expect([...query]).toEqual([['q', 'keys & more']]);
    expect(parseRoute('').path).toEqual([]);
    expect(parseRoute('#/a%').path).toEqual(['a%']);
  });
});

describe('addresses of others', () => {
  it('are links only where they lead to the web', () => {
    expect(safeLink('https://example.com/a b')).toBe('https://example.com/a%20b');
    for (const address of ['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'data:text/html,x', 'file:///etc', 'x', '']) {
      expect(safeLink(address), address).toBeUndefined();
    }
    expect(safeLink(null)).toBeUndefined();
  });
});

describe('what the API says is wrong', () => {
  it('is one text, whatever form it has', () => {
    expect(errorText('{"error":"Unauthorized","details":"Give a key."}')).toBe('Unauthorized: Give a key.');
    expect(errorText('{"success":false,"error":[{"message":"asOf must be a time","path":["asOf"]}]}')).toBe(
      'asOf must be a time',
    );
    expect(errorText('{"error":"It is gone.","details":"Put it back."}')).toBe('It is gone. Put it back.');
    expect(errorText('{"error":{"message":"No"}}')).toBe('No');
    for (const body of ['', '<html>', '{}', '{"error":""}']) expect(errorText(body)).toBeUndefined();
  });
});

describe('a command to copy', () => {
  it('is one argument to the shell, whatever was asked', () => {
    expect(shellQuoted(`it's $(rm -rf ~)`)).toBe(`'it'\\''s $(rm -rf ~)'`);
    const command = searchAsCurl('http://127.0.0.1:6767', { q: "it's", searchMode: 'hybrid', limit: 5 });
    expect(command).toContain(`-d '{"q":"it'\\''s","searchMode":"hybrid","limit":5}'`);
  });
});

describe('numbers and times', () => {
  it('are short and have units', () => {
    expect([0, 999, 1_500, 26_214_400, 3e12].map(formatBytes)).toEqual([
      '0 bytes',
      '999 bytes',
      '1.5 kB',
      '26.2 MB',
      '3 TB',
    ]);
    expect([400, 45_000, 180_000, 7_500_000, 3 * 86_400_000].map(formatDuration)).toEqual([
      'under 1 s',
      '45 s',
      '3 min',
      '2 h 5 min',
      '3 days',
    ]);
    const now = new Date('2026-03-04T12:00:00Z');
    expect(
      ['2026-03-04T11:59:58Z', '2026-03-04T11:57:00Z', '2026-03-04T14:00:00Z', '2026-03-03T12:00:00Z'].map((at) =>
        formatAgo(at, now),
      ),
    ).toEqual(['just now', '3 minutes ago', 'in 2 hours', 'yesterday']);
  });
});

describe('what changed at a source', () => {
  it('says once of what the source consists', () => {
    const changes = { added: 1, updated: 2, deleted: 0, failed: 1_000 };
    expect(changesOf(changes, 'folder')).toBe('1 file new · 2 updated · 1,000 failed');
    expect(changesOf({ ...changes, added: 0 }, 'imap')).toBe('2 threads updated · 1,000 failed');
    expect(changesOf(changes, 'constructor')).toBe('1 item new · 2 updated · 1,000 failed');
    expect(changesOf({ added: 0, updated: 0, deleted: 0, failed: 0 }, 'folder')).toBe('');
  });
});

describe('a source', () => {
  const named = (change: Partial<Connection>) =>
    sourceName({ provider: 'github', metadata: {}, selection: [], ...change } as unknown as Connection, 'GitHub');

  it('is called by what is mirrored of it', () => {
    expect(named({})).toBe('GitHub');
    expect(named({ metadata: { repositories: ['acme/a', 'acme/b'] } })).toBe('acme/a, acme/b');
    const chosen = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ id: name, name }));
    expect(named({ selection: chosen })).toBe('a, b, c and 2 more');
  });
});
