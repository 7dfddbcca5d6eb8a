import { useState } from 'preact/hooks';
import { baseAddress, call } from '../api.ts';
import { formatMoment, formatNumber } from '../format.ts';
import { say } from '../message.ts';
import { Ago, Button, Head, LoadProblem, Loading, Notice } from '../parts/controls.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { MarkedText } from '../parts/marked-text.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { hrefOf } from '../address.ts';
import { goTo, route } from '../route.ts';
import { safeLink } from '../safe-link.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import type { DocumentAnswer } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { DocumentBadge, documentTitle, typeName } from './documents.tsx';

const settled = new Set(['done', 'failed']);
const lookEveryMs = 2_000;

export function DocumentScreen({ id }: { id: string }) {
  const [isSettled, setSettled] = useState(false);
  const { data, error, reload } = useLoad(
    async (signal) => {
      const answer = await call('GET /v3/documents/{id}', { path: { id }, signal });
      setSettled(settled.has(answer.status));
      return answer;
    },
    [id],
    isSettled ? undefined : lookEveryMs,
  );
  if (data) return <DocumentView document={data} reload={reload} />;
  return (
    <>
      <Head title={texts.nav.documents} />
      {error ? <LoadProblem error={error} reload={reload} /> : <Loading />}
    </>
  );
}

function DocumentView({ document, reload }: { document: DocumentAnswer; reload: () => void }) {
  const { id, title, filepath, error, status } = document;
  const query = route.value.query.get('q') ?? '';
  return (
    <>
      <Head
        title={documentTitle(document)}
        note={
          <div class="row">
            <DocumentBadge status={status} />
            {filepath && filepath !== title && <bdi class="wrap">{filepath}</bdi>}
          </div>
        }
      >
        <Actions document={document} reload={reload} />
      </Head>
      {error && status !== 'done' && (
        <Notice tone={status === 'failed' ? 'bad' : 'warn'}>
          <strong>{status === 'failed' ? texts.document.failedTitle : texts.document.notYetTitle}</strong>
          <p>
            <bdi>{error.message}</bdi>
            {status !== 'failed' && error.nextRetryAt && (
              <>
                {' '}
                {texts.document.nextTry} <Ago at={error.nextRetryAt} />
              </>
            )}
          </p>
        </Notice>
      )}
      <Tabs
        label={texts.documents.title}
        tabs={[
          { name: texts.document.text, render: () => <FullText text={document.content ?? ''} query={query} /> },
          { name: texts.document.chunks, render: () => <Chunks id={id} query={query} /> },
          { name: texts.document.memories, render: () => <DrawnMemories document={document} /> },
          { name: texts.document.details, render: () => <Details document={document} /> },
        ]}
      />
    </>
  );
}

/** What holds a memory alone has no text of its own to read. */
function isReadable({ status, source }: DocumentAnswer): boolean {
  return settled.has(status) && source !== 'memory';
}

function Actions({ document, reload }: { document: DocumentAnswer; reload: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const { id, url, source, connectionId } = document;
  const original = safeLink(url);
  const openFile = useAction(async () => {
    const answer = await call('GET /v3/documents/{id}/file-url', { path: { id } });
    const link = safeLink(new URL(answer.url, baseAddress).href);
    if (link) open(link, '_blank', 'noreferrer');
  });
  const again = useAction(async () => {
    await call('POST /v3/documents/{id}/reindex', { path: { id } });
    say(texts.document.requeued);
    reload();
  });
  const remove = useAction(async () => {
    await call('DELETE /v3/documents/{id}', { path: { id } });
    say(texts.document.deleted, { forNextScreen: true });
    goTo(['documents']);
  });
  const problem = openFile.error || again.error;
  return (
    <>
      {original && (
        <a class="button" href={original} target="_blank" rel="noreferrer">
          {texts.document.original}
        </a>
      )}
      {source === 'file' && (
        <Button isBusy={openFile.isBusy} onClick={() => openFile.run()}>
          {texts.document.raw}
        </Button>
      )}
      {mayWrite.value && isReadable(document) && (
        <Button isBusy={again.isBusy} onClick={() => again.run()}>
          {texts.document.again}
        </Button>
      )}
      {mayWrite.value && (
        <Button look="bad" onClick={() => setAsking(true)}>
          {texts.document.delete}
        </Button>
      )}
      {problem && <Notice tone="bad">{problem}</Notice>}
      {isAsking && (
        <Confirm
          title={texts.document.deleteTitle}
          action={remove}
          confirm={texts.document.delete}
          isDangerous
          onClose={() => setAsking(false)}
        >
          <p>{texts.document.deleteHelp}</p>
          {connectionId !== null && <p>{texts.document.deleteMirrored}</p>}
        </Confirm>
      )}
    </>
  );
}

/** So many characters are drawn at once; a text may have millions. */
const shownCharacters = 40_000;

function FullText({ text, query }: { text: string; query: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text === '') return <p class="quiet">{texts.document.noText}</p>;
  const shown = isWhole ? text : text.slice(0, shownCharacters);
  return (
    <>
      <div class="prose">
        <MarkedText text={shown} query={query} />
      </div>
      {shown.length < text.length && (
        <p class="quiet">
          {texts.document.longText(formatNumber(shown.length), formatNumber(text.length))}{' '}
          <Button look="plain" onClick={() => setWhole(true)}>
            {texts.document.showAll}
          </Button>
        </p>
      )}
    </>
  );
}

function Chunks({ id, query }: { id: string; query: string }) {
  const { data, error, reload } = useLoad(
    (signal) => call('GET /v3/documents/{id}/chunks', { path: { id }, signal }),
    [id],
  );
  const [shown, setShown] = useState(50);
  if (error) return <LoadProblem error={error} reload={reload} />;
  if (!data) return <Loading />;
  return (
    <>
      <p class="quiet">{texts.document.chunksHelp}</p>
      <ol class="chunks">
        {data.chunks.slice(0, shown).map(({ id: chunkId, position, content }) => (
          <li key={chunkId}>
            <span class="quiet small">{texts.document.chunk(position)}</span>
            <div class="prose">
              <MarkedText text={content} query={query} />
            </div>
          </li>
        ))}
      </ol>
      {shown < data.chunks.length && (
        <Button look="plain" onClick={() => setShown(shown + 50)}>
          {texts.more}
        </Button>
      )}
    </>
  );
}

function DrawnMemories({ document: { memories = [], containerTags } }: { document: DocumentAnswer }) {
  const latest = memories.filter((each) => each.isLatest && !each.isForgotten);
  if (latest.length === 0) return <p class="quiet">{texts.document.noMemories}</p>;
  return (
    <ul class="rows">
      {latest.map(({ id, memory }) => (
        <li key={id} class="line">
          <a href={hrefOf(['memories'], { ns: containerTags[0] ?? '' })}>
            <bdi>{memory}</bdi>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** A list as its parts; what has parts of its own as it is sent. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  const isPlainList = Array.isArray(value) && value.every((each) => typeof each === 'string');
  return isPlainList ? value.join(', ') : JSON.stringify(value);
}

function Details({ document }: { document: DocumentAnswer }) {
  const { labels } = texts.document;
  const facts: [string, preact.ComponentChildren][] = [
    [labels.path, document.filepath],
    [labels.type, typeName(document.type)],
    [labels.status, texts.documents.statuses[document.status]],
    [labels.namespace, document.containerTags.join(', ')],
    [
      labels.source,
      document.connectionId === null ? (
        document.source
      ) : (
        <a href={hrefOf(['sources', document.connectionId])}>{document.source}</a>
      ),
    ],
    [labels.author, document.author],
    [labels.dated, document.documentDate && formatMoment(document.documentDate)],
    [labels.updated, formatMoment(document.updatedAt)],
    [labels.customId, document.customId],
    [labels.length, document.content && texts.document.characters(document.content.length)],
    ...Object.entries(document.metadata).map(([name, value]): [string, string] => [name, valueText(value)]),
  ];
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => [
          <dt key={name}>
            <bdi>{name}</bdi>
          </dt>,
          <dd key={`${name} value`}>
            <bdi>{value}</bdi>
          </dd>,
        ])}
    </dl>
  );
}
