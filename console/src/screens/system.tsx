import { useEffect } from 'preact/hooks';
import { hrefOf } from '../address.ts';
import { call } from '../api.ts';
import { formatAgo, formatBytes, formatMoment, formatNumber } from '../format.ts';
import { Ago, Badge, Head, LoadProblem, Loading, More, Notice, Section } from '../parts/controls.tsx';
import { ChoiceField } from '../parts/field.tsx';
import { SystemBackups } from '../parts/system-backups.tsx';
import { SystemChecks, SystemWarnings } from '../parts/system-checks.tsx';
import { SystemProcesses } from '../parts/system-processes.tsx';
import { replaceRoute, route } from '../route.ts';
import { isFull } from '../session.ts';
import { texts } from '../texts.ts';
import type { DocumentStatus, Settings, Status } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { usePages } from '../use-pages.ts';
import { noteSeen } from '../wrong-keys.ts';

const everyMs = 5_000;

export function System() {
  const status = useLoad(async (signal) => (isFull.value ? call('GET /v3/status', { signal }) : null), [], everyMs);
  const ready = useLoad((signal) => call('GET /ready', { signal, accepts: 503 }), [], everyMs);
  return (
    <>
      <Head title={texts.system.title} note={texts.system.help} />
      {isFull.value && asksForLog() && <Audit />}
      <LoadProblem error={status.error} reload={status.reload} />
      {status.data === undefined && !status.error && <Loading />}
      <Section title={texts.system.health}>
        <LoadProblem error={ready.error} reload={ready.reload} />
        <dl class="facts">
          {Object.entries(ready.data ?? {}).map(([part, state]) => [
            <dt key={part}>{texts.system.parts[part] ?? part}</dt>,
            <dd key={`${part} state`}>
              <Badge tone={state === 'ok' ? 'good' : 'warn'}>{state === 'ok' ? texts.system.ok : state}</Badge>
            </dd>,
          ])}
        </dl>
      </Section>
      {isFull.value && <SystemProcesses />}
      {status.data && <About status={status.data} />}
      {status.data && <SystemBackups schedule={status.data.backups} />}
      {isFull.value && <SystemChecks />}
      {isFull.value && <SystemWarnings />}
      {isFull.value && <Configuration />}
      {isFull.value && !asksForLog() && <Audit />}
    </>
  );
}

/** How many documents wait, and how long the oldest of them does. */
function waitingText({ documents, oldestWaitingAt }: Status): string {
  const { done: _done, failed: _failed, unknown: _unknown, ...waiting } = documents;
  const count = Object.values(waiting).reduce((sum, each) => sum + each, 0);
  if (count === 0 || oldestWaitingAt === null) return texts.system.nothingWaits;
  return texts.system.waits(count, formatAgo(oldestWaitingAt, new Date()));
}

function About({ status }: { status: Status }) {
  const { storage, embedder, languageModel } = status;
  const facts: [string, string][] = [
    [texts.system.version, status.version],
    [texts.system.since, formatMoment(status.startedAt)],
    [texts.system.store, [texts.home.stores[storage.engine], storage.dataDir].filter(Boolean).join(', ')],
    ...(storage.bytes === null ? [] : [[texts.system.size, formatBytes(storage.bytes)] as [string, string]]),
    [texts.system.queue, status.queue.kind],
    [texts.system.waiting, waitingText(status)],
    [texts.system.eventLoop, texts.system.milliseconds(status.eventLoopMs)],
    [texts.system.model, embedder ? `${embedder.id}, ${embedder.runtime}, ${embedder.state}` : '–'],
    [texts.system.languageModel, languageModel ? `${languageModel.id}, ${languageModel.state}` : texts.system.noModel],
  ];
  const counts = (Object.entries(status.documents) as [DocumentStatus, number][]).filter(([, count]) => count > 0);
  return (
    <>
      <Section title={texts.system.about}>
        <dl class="facts">
          {facts.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
        </dl>
      </Section>
      {counts.length > 0 && (
        <Section title={texts.system.documents}>
          <dl class="facts">
            {counts.map(([state, count]) => [
              <dt key={state}>
                <a href={hrefOf(['documents'], { status: state })}>{texts.documents.statuses[state]}</a>
              </dt>,
              <dd key={`${state} count`}>{formatNumber(count)}</dd>,
            ])}
          </dl>
          {status.foundByWords > 0 && <p class="quiet">{texts.system.byWords(status.foundByWords)}</p>}
        </Section>
      )}
    </>
  );
}

/** What is in force and where it was said; what nobody set stands behind a fold. */
function Configuration() {
  const { data, error, reload } = useLoad((signal) => call('GET /v3/configuration', { signal }), []);
  const chosen = data?.settings.filter(({ source }) => source !== 'default') ?? [];
  const rest = data?.settings.filter(({ source }) => source === 'default') ?? [];
  return (
    <Section title={texts.system.settings} note={texts.system.settingsHelp}>
      <LoadProblem error={error} reload={reload} />
      {data?.risks.map((risk) => (
        <Notice key={risk} tone="warn">
          {risk}
        </Notice>
      ))}
      <SettingList settings={chosen} />
      {rest.length > 0 && (
        <details>
          <summary>{texts.system.defaults(rest.length)}</summary>
          <SettingList settings={rest} />
        </details>
      )}
    </Section>
  );
}

function SettingList({ settings }: Pick<Settings, 'settings'>) {
  return (
    <dl class="facts">
      {settings.map(({ field, value, source }) => [
        <dt key={field}>
          <code>{field}</code>
        </dt>,
        <dd key={`${field} value`}>
          <bdi>{typeof value === 'string' ? value : JSON.stringify(value)}</bdi>{' '}
          {source !== 'default' && <span class="quiet small">{source}</span>}
        </dd>,
      ])}
    </dl>
  );
}

/** The security log is above the rest where the address asks for it. */
const asksForLog = () => route.value.query.has('log');

function Audit() {
  const isDenied = route.value.query.get('log') === 'denied';
  const pages = usePages(
    async (cursor, signal) => {
      const query = { limit: 50, ...(isDenied && { outcome: 'denied' as const }), ...(cursor && { cursor }) };
      const { events, next } = await call('GET /v3/audit', { query, signal });
      return { items: events, next };
    },
    [isDenied],
  );
  const isShown = isDenied && !pages.isLoading;
  useEffect(() => {
    if (isShown) noteSeen(pages.rows);
  }, [isShown]);
  return (
    <Section title={texts.system.audit} note={texts.system.auditHelp}>
      <div class="filters">
        <ChoiceField
          label={texts.system.auditShow}
          value={isDenied ? 'denied' : 'all'}
          options={[
            ['all', texts.system.auditAll],
            ['denied', texts.system.auditDenied],
          ]}
          onChange={(log) => replaceRoute(['system'], { log })}
        />
      </div>
      <LoadProblem error={pages.error} reload={pages.reload} />
      {!pages.isLoading && pages.rows.length === 0 && <p class="line quiet">{texts.system.auditEmpty}</p>}
      <ul class="rows">
        {pages.rows.map((event) => (
          <li key={event.id} class="line wide log">
            <Badge tone={event.outcome === 'done' ? 'good' : 'bad'}>{texts.system.outcomes[event.outcome]}</Badge>
            <span class="grow wrap">
              <code>{event.action}</code> <bdi class="quiet small">{event.target}</bdi>
            </span>
            <span class="quiet small">
              <bdi>{event.keyName ?? event.address}</bdi> · <Ago at={event.at} />
            </span>
          </li>
        ))}
      </ul>
      <More read={pages.readMore} />
    </Section>
  );
}
