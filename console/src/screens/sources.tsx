import { call } from '../api.ts';
import { Ago, Badge, Coded, Head, LoadProblem, Loading, Section } from '../parts/controls.tsx';
import { SourceMark } from '../parts/source-mark.tsx';
import { WindowedList } from '../parts/windowed-list.tsx';
import { hrefOf } from '../address.ts';
import { mayManage } from '../session.ts';
import { route } from '../route.ts';
import { sourceName, sourceState } from '../source-state.ts';
import { texts } from '../texts.ts';
import type { Connection, Connector } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { usePages } from '../use-pages.ts';

const everyMs = 5_000;
/** Where there are more, those come first that need a hand, and all of them are on a page of their own. */
const mostSources = 50;
const pageSize = 100;

export function Sources() {
  const connectors = useLoad((signal) => call('GET /v3/connectors', { signal }), []);
  const isAll = route.value.query.has('all');
  return (
    <>
      <Head title={texts.sources.title}>
        {isAll && mayManage.value && (
          <a class="button" href={hrefOf(['sources'])}>
            {texts.sources.back}
          </a>
        )}
      </Head>
      <LoadProblem error={connectors.error} reload={connectors.reload} />
      {isAll ? <AllConnections connectors={connectors.data ?? []} /> : <Overview connectors={connectors.data ?? []} />}
    </>
  );
}

function Overview({ connectors }: { connectors: Connector[] }) {
  const { data, error, reload } = useLoad(
    (signal) => call('POST /v3/connections/list', { body: { limit: mostSources, order: 'attention' }, signal }),
    [],
    everyMs,
  );
  return (
    <>
      <LoadProblem error={error} reload={reload} />
      <Section title={texts.sources.connected}>
        {!data && !error && <Loading />}
        {data?.length === 0 && <p class="line quiet">{texts.sources.empty}</p>}
        <ul class="rows">
          {data?.map((connection) => (
            <li key={connection.id}>
              <ConnectionLine connection={connection} connectors={connectors} isWhole />
            </li>
          ))}
        </ul>
        {data?.length === mostSources && (
          <p class="line">
            <a href={hrefOf(['sources'], { all: 'yes' })}>{texts.sources.all}</a>
          </p>
        )}
      </Section>
      {mayManage.value && connectors.length > 0 && <Catalogue connectors={connectors} />}
    </>
  );
}

/** Any number of them, newest first, of which only those in sight are drawn. */
function AllConnections({ connectors }: { connectors: Connector[] }) {
  const pages = usePages(async (cursor, signal) => {
    const body = { limit: pageSize, ...(cursor && { cursor }) };
    const items = await call('POST /v3/connections/list', { body, signal });
    return { items, next: items.length < pageSize ? null : items.at(-1)!.id };
  }, []);
  return (
    <>
      <LoadProblem error={pages.error} reload={pages.reload} />
      {pages.isLoading && pages.rows.length === 0 && <Loading />}
      <WindowedList
        label={texts.sources.title}
        rows={pages.rows}
        keyOf={({ id }) => id}
        render={(connection) => <ConnectionLine connection={connection} connectors={connectors} />}
        onNearEnd={pages.readMore}
      />
    </>
  );
}

interface ConnectionLineProps {
  connection: Connection;
  connectors: Connector[];
  /** With what is wrong with it; otherwise it is as high as every other one. */
  isWhole?: boolean;
}

function ConnectionLine({ connection, connectors, isWhole = false }: ConnectionLineProps) {
  const { displayName } = connectors.find(({ provider }) => provider === connection.provider) ?? {};
  const { tone, text, reason } = sourceState(connection);
  const name = sourceName(connection, displayName);
  const held = connection.standing?.heldDeletes ?? 0;
  return (
    <a class={isWhole ? 'line wide' : 'line'} href={hrefOf(['sources', connection.id])}>
      <SourceMark provider={connection.provider} />
      <span class="grow">
        <bdi class="title">{name}</bdi>
        <span class={isWhole ? 'quiet small' : 'quiet small sub cut'}>
          {displayName} · {texts.documentsCount(connection.documentCount)} · <bdi>{connection.containerTag}</bdi>
          {connection.nextSyncAt && tone === 'good' && (
            <>
              {' · '}
              {texts.sources.nextSync('')}
              <Ago at={stillToCome(connection.nextSyncAt, new Date())} />
            </>
          )}
        </span>
        {isWhole && reason && (
          <bdi class="small sub wrap">
            <Coded text={reason} />
          </bdi>
        )}
        {isWhole && held > 0 && <span class="small sub">{texts.home.held(held)}</span>}
      </span>
      <Badge tone={tone}>{text}</Badge>
    </a>
  );
}

/** One that is due comes in a moment, and did not just come. */
const stillToCome = (at: string, now: Date) => new Date(Math.max(Date.parse(at), now.getTime() + 15_000)).toISOString();

function Catalogue({ connectors }: { connectors: Connector[] }) {
  return (
    <Section title={texts.sources.catalogue}>
      <ul class="catalogue">
        {connectors.map(({ provider, displayName, description, configured }) => (
          <li key={provider}>
            <a href={hrefOf(['sources', 'add', provider])}>
              <SourceMark provider={provider} />
              <strong>{displayName}</strong>
              <span class="quiet small">
                {description} {!configured && <span class="tag">{texts.sources.notConfigured}</span>}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Section>
  );
}
