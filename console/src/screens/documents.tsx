import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { formatBytes } from '../format.ts';
import { Ago, Badge, Button, Empty, Head, LoadProblem, Loading } from '../parts/controls.tsx';
import { ChoiceField, TextField } from '../parts/field.tsx';
import { NamespaceChoice, useNamespaces } from '../parts/namespace-choice.tsx';
import { WindowedList } from '../parts/windowed-list.tsx';
import { hrefOf } from '../address.ts';
import { replaceRoute, route } from '../route.ts';
import { mayWrite } from '../session.ts';
import { sourceName } from '../source-state.ts';
import { texts } from '../texts.ts';
import type { Tone } from '../tone.ts';
import type { DocumentQuery, DocumentRow, DocumentStatus } from '../types.ts';
import { useDelayed } from '../use-delayed.ts';
import { useLoad } from '../use-load.ts';
import { usePages } from '../use-pages.ts';

const pageSize = 100;
/** Whose names are known here; of how many one can be chosen. */
const mostSources = 500;

function readFilters() {
  const { query } = route.value;
  return {
    q: query.get('q') ?? '',
    ns: query.get('ns') ?? '',
    status: (query.get('status') ?? '') as DocumentStatus | '',
    source: query.get('source') ?? '',
    type: query.get('type') ?? '',
  };
}

export function Documents() {
  const asked = readFilters();
  const [typed, setTyped] = useState(asked.q);
  const filters = { ...asked, q: useDelayed(typed.trim()) };
  const namespaces = useNamespaces().data ?? [];
  const connections = useLoad(
    (signal) => call('POST /v3/connections/list', { body: { limit: mostSources }, signal }),
    [],
  ).data;
  const sources = new Map(connections?.map((each) => [each.id, sourceName(each)]));
  const total = useTotal(filters);
  const [listed, setListed] = useState<number>();
  const pages = usePages(
    async (cursor, signal) => {
      const [page, all] = await Promise.all([
        readPage(filters, cursor, signal),
        cursor === '' ? countAll(filters, signal) : undefined,
      ]);
      if (all !== undefined) setListed(all);
      return page;
    },
    [filters],
  );
  const hasNews = total !== undefined && listed !== undefined && total !== listed;
  const showNews = () => {
    scrollTo(0, 0);
    pages.reload();
  };
  // An empty list is filled by itself; rows never move under somebody's eyes.
  useEffect(() => {
    if (hasNews && listed === 0) pages.reload();
  }, [hasNews, listed]);
  const change = (changed: Partial<typeof filters>) => replaceRoute(['documents'], { ...filters, ...changed });
  const isEmpty = !pages.isLoading && pages.rows.length === 0 && !pages.error;
  const isFiltered = Object.values(filters).some((value) => value !== '');
  return (
    <>
      <Head title={texts.documents.title} note={total === undefined ? undefined : texts.documents.count(total)}>
        {hasNews && listed > 0 && <Button onClick={showNews}>{texts.documents.showNews}</Button>}
        {mayWrite.value && (
          <a class="button main" href={hrefOf(['documents', 'add'])}>
            {texts.documents.add}
          </a>
        )}
      </Head>
      <div class="filters">
        <TextField label={texts.documents.find} type="search" value={typed} onInput={setTyped} />
        <NamespaceChoice value={filters.ns} withAll namespaces={namespaces} onChange={(ns) => change({ ns })} />
        <ChoiceField
          label={texts.documents.type}
          value={filters.type}
          options={[['', texts.documents.anyType], ...typesWith(filters.type)]}
          onChange={(type) => change({ type })}
        />
        <ChoiceField
          label={texts.documents.status}
          value={filters.status}
          options={[
            ['', texts.documents.anyStatus],
            ...(Object.entries(texts.documents.statuses) as [DocumentStatus, string][]),
          ]}
          onChange={(status) => change({ status })}
        />
        <ChoiceField
          label={texts.documents.source}
          value={filters.source}
          options={[['', texts.documents.anySource], ...sources]}
          onChange={(source) => change({ source })}
        />
      </div>
      <LoadProblem error={pages.error} reload={pages.reload} />
      {pages.isLoading && pages.rows.length === 0 && <Loading />}
      {isEmpty && isFiltered && <p class="quiet">{texts.documents.noMatch}</p>}
      {isEmpty && !isFiltered && <Empty title={texts.documents.empty} text={texts.documents.emptyHelp} />}
      <WindowedList
        label={texts.documents.caption}
        rows={pages.rows}
        {...(total !== undefined && { total })}
        keyOf={(row) => row.id}
        render={(row) => <DocumentLine row={row} source={sources.get(row.connectionId ?? '')} />}
        onNearEnd={pages.readMore}
      />
    </>
  );
}

/** A connector of somebody else may have types of its own. */
export const typeName = (type: string) => texts.documents.types[type] ?? type.replaceAll('_', ' ');

/** Those that can be chosen, among them the one that the address names. */
function typesWith(named: string): [string, string][] {
  const others = named === '' || Object.hasOwn(texts.documents.types, named) ? [] : [named];
  return [...Object.keys(texts.documents.types), ...others].map((type) => [type, typeName(type)]);
}

function bodyOf({ q, ns, status, source, type }: ReturnType<typeof readFilters>): DocumentQuery {
  return {
    ...(q !== '' && { q }),
    ...(ns !== '' && { containerTag: ns }),
    ...(status !== '' && { status }),
    ...(source !== '' && { connectionId: source }),
    ...(type !== '' && { type }),
  };
}

async function readPage(filters: ReturnType<typeof readFilters>, cursor: string, signal: AbortSignal) {
  const body = { ...bodyOf(filters), cursor, limit: pageSize, sort: 'updatedAt', order: 'desc' } as const;
  const { memories, next = null } = await call('POST /v3/documents/list', { body, signal });
  return { items: memories, next };
}

async function countAll(filters: ReturnType<typeof readFilters>, signal: AbortSignal): Promise<number> {
  return (await call('POST /v3/documents/count', { body: bodyOf(filters), signal })).totalItems;
}

const countEveryMs = 5_000;

function useTotal(filters: ReturnType<typeof readFilters>): number | undefined {
  return useLoad((signal) => countAll(filters, signal), [filters], countEveryMs).data;
}

const tones: Partial<Record<DocumentStatus, Tone>> = { done: 'good', failed: 'bad', unknown: 'quiet' };

export function DocumentBadge({ status }: { status: DocumentStatus }) {
  return <Badge tone={tones[status] ?? 'busy'}>{texts.documents.statuses[status]}</Badge>;
}

/** What a document is called. */
export function documentTitle({ title, filepath, url }: Pick<DocumentRow, 'title' | 'filepath' | 'url'>): string {
  return title ?? filepath ?? url ?? texts.untitled;
}

interface DocumentLineProps {
  row: DocumentRow;
  /** What its source is called; undefined where it has none. */
  source: string | undefined;
}

function DocumentLine({ row, source }: DocumentLineProps) {
  const title = documentTitle(row);
  const size = typeof row.size === 'number' ? formatBytes(row.size) : undefined;
  return (
    <a class="line" href={hrefOf(['documents', row.id])}>
      <span class="grow">
        <bdi class="title">{title}</bdi>
        <span class="quiet small sub cut">
          {typeName(row.type)}
          {size && ` · ${size}`}
          {row.filepath && row.filepath !== title && <bdi> · {row.filepath}</bdi>}
          {source && <bdi> · {source}</bdi>}
          <bdi> · {row.containerTags.join(', ')}</bdi> · <Ago at={row.updatedAt} />
        </span>
      </span>
      <DocumentBadge status={row.status} />
    </a>
  );
}
