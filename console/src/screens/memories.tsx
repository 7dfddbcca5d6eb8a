import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { endOfDay, formatDay } from '../format.ts';
import { say } from '../message.ts';
import { AsOf } from '../parts/as-of.tsx';
import { Ago, Badge, Button, Empty, Head, LoadProblem, Loading, More, Notice, Section } from '../parts/controls.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { TextField } from '../parts/field.tsx';
import { ForgetByTopic } from '../parts/forget-by-topic.tsx';
import { defaultNamespace, NamespaceChoice, useNamespaces } from '../parts/namespace-choice.tsx';
import { hrefOf } from '../address.ts';
import { replaceRoute, route } from '../route.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import type { Memory } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { usePages } from '../use-pages.ts';

export function Memories() {
  const namespaces = useNamespaces();
  const namespace = route.value.query.get('ns') ?? firstOf(namespaces.data?.map((each) => each.containerTag));
  const asOf = route.value.query.get('asOf') ?? '';
  const [isForgetting, setForgetting] = useState(false);
  const [turn, setTurn] = useState(0);
  const changed = () => setTurn((before) => before + 1);
  if (namespace === undefined) {
    return (
      <>
        <Head title={texts.memories.title} />
        {namespaces.error ? <LoadProblem error={namespaces.error} reload={namespaces.reload} /> : <Loading />}
      </>
    );
  }
  const since = namespaces.data?.find((each) => each.containerTag === namespace)?.createdAt;
  const show = (query: Record<string, string>) => replaceRoute(['memories'], { ns: namespace, asOf, ...query });
  return (
    <>
      <Head title={texts.memories.title}>
        {mayWrite.value && <Button onClick={() => setForgetting(true)}>{texts.memories.forgetAbout}</Button>}
      </Head>
      <div class="filters">
        <NamespaceChoice value={namespace} namespaces={namespaces.data ?? []} onChange={(ns) => show({ ns })} />
        <AsOf value={asOf} since={since} onChange={(day) => show({ asOf: day })} />
      </div>
      <ProfileView namespace={namespace} asOf={asOf} turn={turn} />
      <MemoryList key={`${namespace} ${asOf}`} namespace={namespace} asOf={asOf} turn={turn} onChange={changed} />
      {mayWrite.value && <AddMemory namespace={namespace} onChange={changed} />}
      {isForgetting && <ForgetByTopic namespace={namespace} onClose={() => setForgetting(false)} onChange={changed} />}
    </>
  );
}

function firstOf(tags: string[] | undefined): string | undefined {
  if (tags === undefined) return undefined;
  return tags.includes(defaultNamespace) ? defaultNamespace : (tags[0] ?? defaultNamespace);
}

interface PlaceProps {
  namespace: string;
  asOf: string;
  /** Counts the changes that were made here. */
  turn: number;
}

function ProfileView({ namespace, asOf, turn }: PlaceProps) {
  const body = { containerTag: namespace, ...(asOf !== '' && { asOf: endOfDay(asOf) }) };
  const { data, error, reload } = useLoad(
    (signal) => call('POST /v4/profile', { body, signal }),
    [namespace, asOf, turn],
  );
  const lists = [
    [texts.memories.static, data?.profile.static ?? []],
    [texts.memories.dynamic, data?.profile.dynamic ?? []],
    ...Object.entries(data?.profile.buckets ?? {}),
  ] as const;
  const filled = lists.filter(([, lines]) => lines.length > 0);
  return (
    <Section title={texts.memories.profileTitle} note={texts.memories.profileHelp}>
      <LoadProblem error={error} reload={reload} />
      {data && filled.length === 0 && <p class="line quiet">{texts.memories.emptyProfile}</p>}
      {filled.length > 0 && (
        <div class="profile stack">
          {filled.map(([title, lines]) => (
            <div key={title}>
              <h3>{title}</h3>
              <ul>
                {lines.map((line) => (
                  <li key={line}>
                    <bdi class="wrap">{line}</bdi>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </div>
      )}
    </Section>
  );
}

const pageSize = 50;

function MemoryList({ namespace, asOf, turn, onChange }: PlaceProps & { onChange: () => void }) {
  const pages = usePages(
    async (cursor, signal) => {
      const page = Number(cursor || 1);
      const body = { containerTag: namespace, page, limit: pageSize, ...(asOf !== '' && { asOf: endOfDay(asOf) }) };
      const answer = await call('POST /v4/memories/list', { body, signal });
      return { items: answer.memoryEntries, next: page < answer.pagination.totalPages ? String(page + 1) : null };
    },
    [namespace, asOf, turn],
  );
  const isEmpty = !pages.isLoading && pages.rows.length === 0 && !pages.error;
  return (
    <Section title={texts.memories.list}>
      <LoadProblem error={pages.error} reload={pages.reload} />
      {isEmpty && <Empty title={texts.memories.empty} text={texts.memories.emptyHelp} />}
      <ul class="rows" aria-label={texts.memories.list}>
        {pages.rows.map((memory) => (
          <MemoryLine key={memory.id} memory={memory} namespace={namespace} onChange={onChange} />
        ))}
      </ul>
      <More read={pages.readMore} />
    </Section>
  );
}

interface MemoryLineProps {
  memory: Memory;
  namespace: string;
  onChange: () => void;
}

function MemoryLine({ memory, namespace, onChange }: MemoryLineProps) {
  const [question, setQuestion] = useState<'correct' | 'forget'>();
  const source = memory.sources[0];
  const close = () => setQuestion(undefined);
  return (
    <li>
      <div class="line wide roomy">
        <div class="grow">
          <bdi class="wrap">{memory.memory}</bdi>
          <div class="quiet small">
            {texts.memories.kinds[memory.kind]} · {texts.search.trust[memory.trust]}
            {memory.author && <bdi> · {memory.author}</bdi>}
            {' · '}
            <Ago at={memory.saidAt ?? memory.createdAt} />
            {source && (
              <>
                {` · ${texts.memories.from} `}
                <a href={hrefOf(['documents', source.documentId])}>
                  <bdi>{source.title ?? texts.memories.aDocument}</bdi>
                </a>
              </>
            )}
          </div>
          {memory.history.length > 0 && <Versions memory={memory} />}
        </div>
        {mayWrite.value && (
          <div class="row">
            <Button
              look="plain"
              label={`${texts.memories.correct}: ${memory.memory}`}
              onClick={() => setQuestion('correct')}
            >
              {texts.memories.correct}
            </Button>
            <Button
              look="plain"
              label={`${texts.memories.forget}: ${memory.memory}`}
              onClick={() => setQuestion('forget')}
            >
              {texts.memories.forget}
            </Button>
          </div>
        )}
      </div>
      {question === 'correct' && <Correct memory={memory} namespace={namespace} onClose={close} onChange={onChange} />}
      {question === 'forget' && <Forget memory={memory} namespace={namespace} onClose={close} onChange={onChange} />}
    </li>
  );
}

function Versions({ memory }: { memory: Memory }) {
  const all = [memory, ...memory.history].toSorted((one, other) => other.version - one.version);
  return (
    <details>
      <summary class="small">{texts.memories.versions(all.length)}</summary>
      <ol class="time-line">
        {all.map(({ id, version, memory: text, createdAt, isForgotten }) => (
          <li key={id} class={id === memory.id ? 'current' : ''}>
            <bdi>{text}</bdi>
            <div class="quiet small">
              {texts.memories.version(version)} · {formatDay(createdAt)}
              {id === memory.id && ` · ${texts.memories.now}`}{' '}
              {isForgotten && <Badge tone="quiet">{texts.memories.isForgotten}</Badge>}
            </div>
          </li>
        ))}
      </ol>
    </details>
  );
}

type ChangeProps = MemoryLineProps & { onClose: () => void };

function Correct({ memory, namespace, onClose, onChange }: ChangeProps) {
  const [text, setText] = useState(memory.memory);
  const action = useAction(async () => {
    const body = { containerTag: namespace, id: memory.id, newContent: text.trim() };
    await call('PATCH /v4/memories', { body });
    say(texts.memories.corrected);
    onClose();
    onChange();
  });
  return (
    <Confirm
      title={texts.memories.correctTitle}
      action={action}
      confirm={texts.memories.correctSubmit}
      onClose={onClose}
    >
      <TextField
        label={texts.memories.addLabel}
        value={text}
        onInput={setText}
        lines={3}
        help={texts.memories.correctHelp}
      />
    </Confirm>
  );
}

function Forget({ memory, namespace, onClose, onChange }: ChangeProps) {
  const action = useAction(async () => {
    await call('DELETE /v4/memories', { body: { containerTag: namespace, id: memory.id } });
    say(texts.memories.forgotten);
    onClose();
    onChange();
  });
  return (
    <Confirm
      title={texts.memories.forgetTitle}
      action={action}
      confirm={texts.memories.forget}
      isDangerous
      onClose={onClose}
    >
      <blockquote class="notice">
        <bdi>{memory.memory}</bdi>
      </blockquote>
      <p>{texts.memories.forgetHelp}</p>
    </Confirm>
  );
}

function AddMemory({ namespace, onChange }: { namespace: string; onChange: () => void }) {
  const [text, setText] = useState('');
  const add = useAction(async () => {
    if (text.trim() === '') throw new Error(texts.addSource.problems.missing);
    const body = { containerTag: namespace, memories: [{ content: text.trim() }] };
    await call('POST /v4/memories', { body });
    setText('');
    say(texts.memories.added);
    onChange();
  });
  return (
    <Section title={texts.memories.add}>
      <form
        class="form line-form"
        onSubmit={(event) => {
          event.preventDefault();
          add.run();
        }}
      >
        <TextField
          label={texts.memories.addLabel}
          value={text}
          onInput={setText}
          lines={2}
          help={texts.memories.addHelp}
        />
        {add.error && <Notice tone="bad">{add.error}</Notice>}
        <div>
          <Button submit isBusy={add.isBusy}>
            {texts.memories.addSubmit}
          </Button>
        </div>
      </form>
    </Section>
  );
}
