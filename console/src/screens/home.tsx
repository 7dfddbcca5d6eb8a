import { call } from '../api.ts';
import { formatBytes, formatDuration, formatNumber } from '../format.ts';
import { growthSeries } from '../growth.ts';
import { Plot } from '../parts/plot.tsx';
import { Ago, Badge, Coded, Empty, Head, LoadProblem, Loading, Section } from '../parts/controls.tsx';
import { SourceMark } from '../parts/source-mark.tsx';
import { hrefOf } from '../address.ts';
import { changesOf } from '../run-changes.ts';
import { isFull, mayManage, mayWrite } from '../session.ts';
import { sourceName, sourceState } from '../source-state.ts';
import { texts } from '../texts.ts';
import type { Activity, Connection, Progress, Status } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { readWrongKeys, type WrongKeys } from '../wrong-keys.ts';

interface SourceView {
  connection: Connection;
  /** Only of those that run, and not of more than somebody watches. */
  progress?: Progress;
  name: string;
}

interface HomeView {
  /** Of the whole daemon, which only a full key may see. */
  status: Status | undefined;
  /** Where there are many, those that need a hand or run, and some of the rest. */
  sources: SourceView[];
  documentCount: number;
  /** Documents that are not yet made searchable, in every namespace that the key may read. */
  waiting: number;
  /** Documents that could not be read and are of no source. */
  failedUploads: number;
}

const everyMs = 4_000;
const wrongKeysEveryMs = 30_000;
/** What changed in a day, and how much each day brought, reads every document. */
const activityEveryMs = 60_000;
const manyDocuments = 20_000;
/** Sources that are looked at at once; the other ones are on their own page. */
const mostSources = 50;
const mostFollowed = 10;
/** Sources that are listed because nothing is wrong with them, or because something changed there. */
const mostListed = 20;
/** That are named of those who gave wrong keys. */
const mostAddresses = 3;

async function readHome(signal: AbortSignal): Promise<HomeView> {
  const [status, connectors, connections, documents] = await Promise.all([
    isFull.value ? call('GET /v3/status', { signal }) : undefined,
    call('GET /v3/connectors', { signal }),
    call('POST /v3/connections/list', { body: { limit: mostSources, order: 'attention' }, signal }),
    call('POST /v3/documents/count', { body: {}, signal }),
  ]);
  const titles = new Map(connectors.map(({ provider, displayName }) => [provider, displayName]));
  const followed = new Set(connections.filter(isRunning).slice(0, mostFollowed));
  const sources = await Promise.all(
    connections.map(async (connection) => ({
      connection,
      name: sourceName(connection, titles.get(connection.provider)),
      ...(followed.has(connection) && { progress: await readProgress(connection.id, signal) }),
    })),
  );
  return {
    status,
    sources,
    documentCount: documents.totalItems,
    waiting: documents.waiting,
    failedUploads: documents.failedUploads,
  };
}

const readProgress = (connectionId: string, signal: AbortSignal) =>
  call('GET /v3/connections/{connectionId}/progress', { path: { connectionId }, signal });

export function Home() {
  const { data, error, reload } = useLoad(readHome, [], everyMs);
  return (
    <>
      <Head title={texts.home.title} />
      <LoadProblem error={error} reload={reload} />
      {!data && !error && <Loading />}
      {data && <HomeSections {...data} />}
    </>
  );
}

function HomeSections({ status, sources, documentCount, waiting, failedUploads }: HomeView) {
  // Anew when something came or went; where that takes long, when a run is over.
  const keys = [
    Math.min(documentCount, manyDocuments),
    sources.map(({ connection }) => connection.lastSyncRun?.completedAt),
  ];
  const activity = useLoad((signal) => call('GET /v3/activity', { signal }), keys, activityEveryMs);
  const wrongKeys = useLoad(
    async (signal) => (isFull.value ? readWrongKeys(signal) : undefined),
    [],
    wrongKeysEveryMs,
  ).data;
  if (sources.length === 0 && documentCount === 0 && !wrongKeys?.count) return <Beginning />;
  const running = sources.filter(({ connection }) => isRunning(connection));
  const healthy = sources.filter(({ connection }) => !isRunning(connection) && !needsHand(connection));
  return (
    <>
      <Attention status={status} sources={sources} failedUploads={failedUploads} wrongKeys={wrongKeys} />
      {(running.length > 0 || waiting > 0) && (
        <Section title={texts.home.running}>
          <ul class="rows">
            {running.map((source) => (
              <SourceLine key={source.connection.id} {...source}>
                <RunningNote {...source} />
              </SourceLine>
            ))}
            {waiting > 0 && <WaitingLine count={waiting} />}
          </ul>
        </Section>
      )}
      {healthy.length > 0 && (
        <Section title={texts.home.healthy}>
          <ul class="rows">
            {healthy.slice(0, mostListed).map((source) => (
              <SourceLine key={source.connection.id} {...source}>
                {texts.documentsCount(source.connection.documentCount)}
              </SourceLine>
            ))}
          </ul>
          {healthy.length > mostListed && (
            <p class="line">
              <a href={hrefOf(['sources'])}>{texts.home.allSources}</a>
            </p>
          )}
        </Section>
      )}
      <LoadProblem error={activity.error} reload={activity.reload} />
      {activity.data && <Changes activity={activity.data} sources={sources} />}
      {activity.data && <Growth activity={activity.data} documentCount={documentCount} status={status} />}
    </>
  );
}

const needsHand = (connection: Connection) => ['bad', 'warn'].includes(sourceState(connection).tone);

const isRunning = ({ status, lastSyncRun, standing }: Connection) =>
  lastSyncRun?.status === 'running' || (status === 'active' && (standing?.waiting ?? 0) > 0);

function Beginning() {
  return (
    <Empty title={texts.home.teachTitle} text={texts.home.teach}>
      {mayManage.value && (
        <a class="button main" href={hrefOf(['sources'])}>
          {texts.home.addSource}
        </a>
      )}
      {mayWrite.value && (
        <a class="button" href={hrefOf(['documents', 'add'])}>
          {texts.home.writeNote}
        </a>
      )}
    </Empty>
  );
}

interface Concern {
  key: string;
  href: string;
  title: string;
  tone: 'bad' | 'warn';
  detail: string;
}

interface AttentionProps extends Pick<HomeView, 'status' | 'sources' | 'failedUploads'> {
  /** Undefined for keys that may not see the security log. */
  wrongKeys: WrongKeys | undefined;
}

function Attention({ status, sources, failedUploads, wrongKeys }: AttentionProps) {
  const concerns = [
    ...sources.flatMap(concernsOf),
    ...uploadConcerns(failedUploads),
    ...wrongKeyConcerns(wrongKeys),
    ...modelConcerns(status),
    ...backupConcerns(status),
  ];
  return (
    <Section title={texts.home.attention}>
      {concerns.length === 0 ? (
        <p class="line quiet">{texts.home.nothingWrong}</p>
      ) : (
        <ul class="rows">
          {concerns.map((concern) => (
            <li key={concern.key}>
              <a class="line wide" href={concern.href}>
                <span class="grow">
                  <Badge tone={concern.tone}>{concern.title}</Badge>
                  <bdi class="quiet small sub wrap">
                    <Coded text={concern.detail} />
                  </bdi>
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function concernsOf({ connection, name }: SourceView): Concern[] {
  const href = hrefOf(['sources', connection.id]);
  const concerns: Concern[] = [];
  const add = (title: string, tone: Concern['tone'], detail: string) =>
    concerns.push({ key: `${connection.id} ${title}`, href, title, tone, detail });
  const { heldDeletes = 0, failed = 0 } = connection.standing ?? {};
  const { tone, text, reason } = sourceState(connection, {});
  if (tone === 'bad' || tone === 'warn') add(text, tone, [name, reason].filter(Boolean).join(': '));
  if (heldDeletes > 0) add(texts.home.held(heldDeletes), 'warn', `${name}. ${texts.home.heldHelp}`);
  if (failed > 0) add(texts.home.failedItems(failed), 'warn', name);
  return concerns;
}

function uploadConcerns(count: number): Concern[] {
  if (count === 0) return [];
  const { failedUploads, failedUploadsHelp } = texts.home;
  const href = hrefOf(['documents'], { status: 'failed' });
  return [{ key: 'uploads', href, title: failedUploads(count), tone: 'warn', detail: failedUploadsHelp }];
}

function wrongKeyConcerns(wrongKeys: WrongKeys | undefined): Concern[] {
  if (!wrongKeys || wrongKeys.count === 0) return [];
  const { count, addresses, addressCount } = wrongKeys;
  const href = hrefOf(['system'], { log: 'denied' });
  const detail = texts.home.wrongKeysFrom(addresses.slice(0, mostAddresses), addressCount);
  return [{ key: 'keys', href, title: texts.home.wrongKeys(count), tone: 'warn', detail }];
}

function modelConcerns(status: Status | undefined): Concern[] {
  if (!status) return [];
  const { id, state, slowness } = status.embedder;
  const place = { key: 'model', href: hrefOf(['system']) };
  if (state === 'failed') return [{ ...place, title: texts.home.model, tone: 'bad', detail: id }];
  return slowness === null ? [] : [{ ...place, title: texts.home.slowModel, tone: 'warn', detail: slowness }];
}

function backupConcerns(status: Status | undefined): Concern[] {
  const { failure = null, isOverdue = false } = status?.backups ?? {};
  const place = { key: 'backup', href: hrefOf(['system']) };
  if (failure) return [{ ...place, title: texts.home.backupFailed, tone: 'bad', detail: failure.reason }];
  return isOverdue ? [{ ...place, title: texts.home.backupOverdue, tone: 'warn', detail: texts.home.backupHelp }] : [];
}

function SourceLine({ connection, name, children }: SourceView & { children: preact.ComponentChildren }) {
  const { tone, text } = sourceState(connection);
  return (
    <li>
      <a class="line wide" href={hrefOf(['sources', connection.id])}>
        <SourceMark provider={connection.provider} />
        <span class="grow">
          <bdi class="title">{name}</bdi>
          <span class="quiet small">{children}</span>
        </span>
        <Badge tone={tone}>{text}</Badge>
      </a>
    </li>
  );
}

function RunningNote({ connection, progress }: SourceView) {
  const run = progress?.run;
  if (run?.status !== 'running')
    return <>{texts.home.uploadsWaiting(progress?.documents.waiting ?? connection.standing?.waiting ?? 0)}</>;
  const left = run.etaMs === null ? '' : `, ${texts.source.left(formatDuration(run.etaMs))}`;
  return (
    <>
      {texts.itemsCount(run.itemsProcessed)}
      {run.itemsTotal !== null && ` / ${run.itemsTotal.toLocaleString()}`}
      {left}
    </>
  );
}

function WaitingLine({ count }: { count: number }) {
  return (
    <li>
      <a class="line wide" href={hrefOf(['documents'])}>
        <span class="grow">
          <span class="title">{texts.home.uploadsWaiting(count)}</span>
          <span class="quiet small">{texts.home.waitingHelp}</span>
        </span>
      </a>
    </li>
  );
}

interface ChangesProps {
  activity: Activity;
  sources: SourceView[];
}

/** What changed at each source in the last day, the latest first. */
function Changes({ activity, sources }: ChangesProps) {
  const names = new Map(sources.map(({ connection, name }) => [connection.id, name]));
  const changed = activity.sources.filter((each) => changesOf(each) !== '');
  return (
    <Section title={texts.home.changes}>
      {changed.length === 0 && activity.uploads === 0 && <p class="line quiet">{texts.home.noChanges}</p>}
      <ul class="rows">
        {changed.slice(0, mostListed).map((each) => (
          <li key={each.connectionId} class="line">
            <SourceMark provider={each.provider} />
            <span class="grow">
              {changesOf(each, each.provider)}
              {' · '}
              <a class="quiet" href={hrefOf(['sources', each.connectionId])}>
                <bdi class="wrap">{names.get(each.connectionId) ?? each.provider}</bdi>
              </a>
            </span>
            <span class="quiet small">
              <Ago at={each.lastAt} />
            </span>
          </li>
        ))}
        {changed.length > mostListed && (
          <li class="line quiet">{texts.home.otherChanges(changed.length - mostListed)}</li>
        )}
        {activity.uploads > 0 && (
          <li class="line">
            <SourceMark provider="push" />
            <a class="grow" href={hrefOf(['documents'])}>
              {texts.home.uploads(activity.uploads)}
            </a>
          </li>
        )}
      </ul>
    </Section>
  );
}

interface GrowthProps extends Pick<HomeView, 'documentCount' | 'status'> {
  activity: Activity;
}

function Growth({ activity, documentCount, status }: GrowthProps) {
  const series = growthSeries(activity.growth, documentCount, new Date());
  return (
    <Section title={texts.home.growth} note={texts.documentsCount(documentCount)}>
      {/* One day is no growth. */}
      {series.seconds.length > 1 && (
        <Plot
          series={{ seconds: series.seconds, values: series.documents, byDay: true }}
          label={texts.home.growthLabel(
            formatNumber(series.documents[0]!),
            formatNumber(documentCount),
            series.seconds.length,
          )}
        />
      )}
      {status && <Kept status={status} />}
    </Section>
  );
}

/** What keeps it and what reads it. */
function Kept({ status: { storage, embedder } }: { status: Status }) {
  const store = texts.home.stores[storage.engine];
  const size = storage.bytes === null ? store : texts.home.sizeIn(formatBytes(storage.bytes), store);
  return (
    <p class="line quiet small">
      <a class="quiet" href={hrefOf(['system'])}>
        {size}, {texts.home.madeWith(embedder.id)}
      </a>
    </p>
  );
}
