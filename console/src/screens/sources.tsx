import { call } from '../api.ts';
import { Ago, Badge, Coded, Head, LoadProblem, Loading, Section } from '../parts/controls.tsx';
import { SourceMark } from '../parts/source-mark.tsx';
import { hrefOf } from '../address.ts';
import { mayManage } from '../session.ts';
import { sourceName, sourceState } from '../source-state.ts';
import { texts } from '../texts.ts';
import type { Connection, Connector, Progress } from '../types.ts';
import { useLoad } from '../use-load.ts';

const everyMs = 5_000;

interface ConnectionView {
  connection: Connection;
  progress: Progress;
}

async function readConnections(signal: AbortSignal): Promise<ConnectionView[]> {
  const connections = await call('POST /v3/connections/list', { body: {}, signal });
  return Promise.all(
    connections.map(async (connection) => {
      const progress = await call('GET /v3/connections/{connectionId}/progress', {
        path: { connectionId: connection.id },
        signal,
      });
      return { connection, progress };
    }),
  );
}

export function Sources() {
  const connections = useLoad(readConnections, [], everyMs);
  const connectors = useLoad((signal) => call('GET /v3/connectors', { signal }), []);
  return (
    <>
      <Head title={texts.sources.title} />
      <LoadProblem error={connections.error ?? connectors.error} reload={connections.reload} />
      <Section title={texts.sources.connected}>
        {!connections.data && !connections.error && <Loading />}
        {connections.data?.length === 0 && <p class="line quiet">{texts.sources.empty}</p>}
        <ul class="rows">
          {connections.data?.map((view) => (
            <ConnectionLine key={view.connection.id} {...view} connectors={connectors.data ?? []} />
          ))}
        </ul>
      </Section>
      {mayManage.value && connectors.data && <Catalogue connectors={connectors.data} />}
    </>
  );
}

function ConnectionLine({ connection, progress, connectors }: ConnectionView & { connectors: Connector[] }) {
  const { displayName } = connectors.find(({ provider }) => provider === connection.provider) ?? {};
  const { tone, text, reason } = sourceState(connection, progress.heldDeletes);
  const name = sourceName(connection, displayName);
  return (
    <li>
      <a class="line wide" href={hrefOf(['sources', connection.id])}>
        <SourceMark provider={connection.provider} />
        <span class="grow">
          <bdi class="title">{name}</bdi>
          <span class="quiet small">
            {displayName} · {texts.documentsCount(connection.documentCount)} · <bdi>{connection.containerTag}</bdi>
            {connection.nextSyncAt && tone === 'good' && (
              <>
                {' · '}
                {texts.sources.nextSync('')}
                <Ago at={connection.nextSyncAt} />
              </>
            )}
          </span>
          {reason && (
            <bdi class="small sub wrap">
              <Coded text={reason} />
            </bdi>
          )}
          {progress.heldDeletes > 0 && <span class="small sub">{texts.home.held(progress.heldDeletes)}</span>}
        </span>
        <Badge tone={tone}>{text}</Badge>
      </a>
    </li>
  );
}

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
