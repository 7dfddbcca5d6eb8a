import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { blockText, type ShownBlock } from '../../connectors/notion/block-text.ts';
import { toRef } from '../../connectors/notion/page-ref.ts';
import { foundIn } from '../../connectors/notion/search.ts';
import { isPage, isSource, titleOf } from '../../connectors/notion/shown.ts';
import {
  showBlock,
  showBot,
  showDatabase,
  showError,
  showList,
  showMarkdown,
  showPage,
  showSource,
  showUser,
} from '../../fixtures/servers/notion/answers.ts';
import { faultOf, type Exchange } from '../../fixtures/servers/notion/description.ts';
import { createWorkspace, idFor } from '../../fixtures/servers/notion/workspace.ts';

/**
 * Cassettes of notion-sdk-py (MIT, https://github.com/ramnes/notion-sdk-py, `tests/cassettes`), which recorded the real
 * API, where a copy of that repository is. They are no part of this one.
 */
const folder = process.env['NOTION_RECORDINGS'];
const recorded = folder === undefined ? [] : readExchanges(join(folder, 'tests/cassettes'));

interface Cassette {
  interactions: {
    request: { method: string; uri: string; body: string | null };
    response: { body: { string: string }; status: { code: number } };
  }[];
}

function readExchanges(cassettes: string): Exchange[] {
  return readdirSync(cassettes).flatMap((name) => {
    const { interactions } = parse(readFileSync(join(cassettes, name), 'utf8')) as Cassette;
    return interactions.flatMap(({ request, response }): Exchange[] => {
      const { pathname, searchParams } = new URL(request.uri);
      const json = parsed(response.body.string);
      const path = decodeURIComponent(pathname);
      const query = Object.fromEntries(searchParams);
      return [
        { method: request.method, path, query, body: parsed(request.body ?? ''), status: response.status.code, json },
      ];
    });
  });
}

function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const workspace = createWorkspace({ now: () => new Date('2026-03-01T09:00:00.000Z') });
const page = workspace.addPage('page');
const source = workspace.addSource('source');
const block = { id: idFor('block'), type: 'paragraph', holds: {}, children: [] };

/** What the stand-in answers, by the kind of object. */
const shown: Record<string, object> = {
  page: showPage(page, workspace),
  data_source: showSource(source, workspace),
  database: showDatabase(source, workspace),
  block: showBlock(block, page.id, workspace),
  page_markdown: showMarkdown(page.id, '', []),
  error: showError(404, 'object_not_found', ''),
};

/** Named by the version of before 2026-03-11, of one request, or of the type that an object has. */
const incidental = new Set(['archived', 'request_id', 'additional_data']);

function keysOf(json: Record<string, unknown>): string[] {
  const typed = typeof json['type'] === 'string' ? json['type'] : '';
  return Object.keys(json)
    .filter((key) => !incidental.has(key) && key !== typed)
    .toSorted();
}

/** Every object in an answer, however deep. */
function* objectsIn(json: unknown): Generator<Record<string, unknown>> {
  if (typeof json !== 'object' || json === null) return;
  const one = json as Record<string, unknown>;
  if (typeof one['object'] === 'string') yield one;
  for (const below of Object.values(one)) yield* objectsIn(below);
}

const ofKind = (kind: string) =>
  recorded.flatMap(({ json }) => [...objectsIn(json)]).filter((one) => one['object'] === kind);

describe('the stand-in for Notion', () => {
  it('is found wrong when an answer or a request is not as described', () => {
    const exchange = { method: 'GET', path: `/v1/pages/${page.id}/markdown`, query: {}, body: undefined, status: 200 };
    const answer = showMarkdown(page.id, 'text', []);
    expect(faultOf({ ...exchange, json: answer })).toBeNull();
    expect(faultOf({ ...exchange, json: { ...answer, markdown: 1 } })).toContain('/markdown');
    expect(faultOf({ ...exchange, query: { page: '2' }, json: answer })).toContain('page');
    expect(faultOf({ ...exchange, method: 'DELETE', json: answer })).toContain('no such operation');
    const search = { ...exchange, method: 'POST', path: '/v1/search', json: showList('x', [], null) };
    expect(faultOf({ ...search, body: { filters: {} } })).toContain('filters');
    expect(faultOf({ ...exchange, status: 404, json: { message: 'no' } })).toContain('object');
  });

  it.each(recorded.length === 0 ? [] : Object.keys(shown))('answers %s with the fields of the real one', (kind) => {
    const real = ofKind(kind).filter((one) => kind === 'error' || Object.keys(one).length > 3);
    expect(real.length).toBeGreaterThan(0);
    const fields = new Set(real.map((one) => keysOf(one).join()));
    expect([...fields]).toContain(keysOf(shown[kind] as Record<string, unknown>).join());
  });

  it.each(recorded.length === 0 ? [] : ['users'])('answers %s and lists with the fields of the real ones', () => {
    const fields = (kind: string, type: string) =>
      new Set(
        ofKind(kind)
          .filter((one) => one['type'] === type)
          .map((one) => keysOf(one).join()),
      );
    expect([...fields('user', 'person')]).toContain(keysOf(showUser(workspace.users[0]!)).join());
    expect([...fields('user', 'bot')]).toContain(keysOf(showBot()).join());
    expect([...fields('list', 'page_or_data_source')]).toContain(
      keysOf(showList('page_or_data_source', [], null)).join(),
    );
  });
});

describe('the recordings', () => {
  it.each(recorded.length === 0 ? [] : ['all'])('fit the description, %s of them that it names', () => {
    const named = recorded.map((one) => [one, faultOf(one)] as const);
    const known = named.filter(([, fault]) => !fault?.includes('no such operation'));
    expect(known.length).toBeGreaterThan(40);
    expect(known.flatMap(([{ json }, fault]) => (fault === null || json === undefined ? [] : [fault]))).toEqual([]);
  });

  it.each(recorded.length === 0 ? [] : ['pages'])('are read as %s, lists and blocks', () => {
    const pages = ofKind('page').filter((one) => isPage(one as { object: string })) as never[];
    expect(pages.length).toBeGreaterThan(50);
    for (const one of pages) {
      const { id, title, rev } = toRef(one, new Date('2026-08-01T00:00:00.000Z'));
      expect([id.length, title, rev.length > 20]).toEqual([36, titleOf(one), true]);
    }
    expect(ofKind('data_source').some((one) => isSource(one as { object: string }))).toBe(true);
    const lists = ofKind('list').filter((one) => one['type'] === 'page_or_data_source');
    for (const list of lists) expect(foundIn(list as never).bare).toBe(0);
    const texts = ofKind('block').map((one) => blockText(one as unknown as ShownBlock));
    expect(texts.some((text) => text !== '')).toBe(true);
  });
});
