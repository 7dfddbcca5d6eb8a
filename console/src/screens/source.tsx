import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { Badge, Button, Coded, Head, LoadProblem, Loading, Notice, Section } from '../parts/controls.tsx';
import { SourceFailures } from '../parts/source-failures.tsx';
import { SourceHeld } from '../parts/source-held.tsx';
import { SourceItems } from '../parts/source-items.tsx';
import { SourceProgress } from '../parts/source-progress.tsx';
import { SourceEdit, SourceStart } from '../parts/source-edit.tsx';
import { SourceSettings } from '../parts/source-settings.tsx';
import { SourceThroughput } from '../parts/source-throughput.tsx';
import { SourceRuns } from '../parts/source-runs.tsx';
import { Disconnect } from '../parts/source-disconnect.tsx';
import { ResourcePicker } from '../parts/resource-picker.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { mayManage, mayWrite } from '../session.ts';
import { sourceName, sourceState } from '../source-state.ts';
import { texts } from '../texts.ts';
import type { Connection, Connector, ItemState, Progress, SyncBody } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { useProgress, type LiveProgress } from '../use-progress.ts';

const everyMs = 5_000;

export function SourceScreen({ id }: { id: string }) {
  const connectors = useLoad((signal) => call('GET /v3/connectors', { signal }), []);
  const live = useProgress(id);
  // What a run has changed is read as soon as it is over.
  const keys = [id, runKeyOf(live.progress)];
  const { data, error, reload } = useLoad(
    (signal) => call('GET /v3/connections/{connection}', { path: { connection: id }, signal }),
    keys,
    everyMs,
  );
  // Together, because what comes later would move what is read already.
  if (!data || (!live.progress && !live.error)) {
    return (
      <>
        <Head title={texts.nav.sources} />
        {error ? <LoadProblem error={error} reload={reload} /> : <Loading />}
      </>
    );
  }
  const connector = connectors.data?.find(({ provider }) => provider === data.provider);
  const changed = () => {
    reload();
    live.reload();
  };
  return <SourceView connection={data} connector={connector} live={live} onChange={changed} />;
}

/** Changes when a run begins and when it ends. */
function runKeyOf(progress: Progress | undefined): string {
  return `${progress?.run?.id} ${progress?.run?.status}`;
}

interface SourceViewProps {
  connection: Connection;
  connector: Connector | undefined;
  live: LiveProgress;
  onChange: () => void;
}

function SourceView({ connection, connector, live, onChange }: SourceViewProps) {
  const { progress } = live;
  const [itemState, setItemState] = useState<ItemState | ''>('');
  const [isEditing, setEditing] = useState(false);
  const [question, setQuestion] = useState<Question>();
  const isNew = connection.status === 'paused' && progress?.run === null;
  const mustChoose = connection.status === 'needs_configuration' && connector?.capabilities.selectable === true;
  const edited = () => {
    setEditing(false);
    onChange();
  };
  const name = sourceName(connection, connector?.displayName);
  const isRunning = progress?.run?.status === 'running';
  const { tone, text, reason } = isRunning
    ? ({ tone: 'busy', text: texts.sources.syncing } as const)
    : sourceState(connection, progress && { heldDeletes: progress.heldDeletes, waiting: progress.documents.waiting });
  const runKey = runKeyOf(progress);
  return (
    <>
      <Head
        title={name}
        note={
          <div class="row">
            <Badge tone={tone}>{text}</Badge>
            <span>{connector?.displayName ?? connection.provider}</span>
            <bdi class="tag">{connection.containerTag}</bdi>
          </div>
        }
      >
        {mayWrite.value && (
          <Actions
            connection={connection}
            name={name}
            isNew={isNew}
            mayChoose={connector?.capabilities.selectable === true && !mustChoose}
            question={question}
            onAsk={setQuestion}
            onChange={onChange}
          />
        )}
      </Head>
      {reason && (
        <Notice tone={tone === 'bad' ? 'bad' : 'warn'}>
          <div class="row between">
            <bdi class="wrap">
              <Coded text={reason} />
            </bdi>
            {mustChoose && mayManage.value && (
              <Button onClick={() => setQuestion('choose')}>{texts.source.choose}</Button>
            )}
          </div>
        </Notice>
      )}
      <LoadProblem error={live.error} reload={live.reload} />
      {isNew && mayManage.value && <SourceStart connection={connection} onChange={onChange} />}
      {progress && !isNew && <SourceProgress live={live} connectionId={connection.id} />}
      {progress && progress.heldDeletes > 0 && (
        <SourceHeld connectionId={connection.id} count={progress.heldDeletes} onChange={onChange} />
      )}
      {!isNew && (
        <>
          <SourceFailures
            connectionId={connection.id}
            counts={progress && `${progress.items.failed} ${progress.items.skipped}`}
            onShow={(state) => setItemState(state)}
            onChange={onChange}
          />
          <SourceThroughput connectionId={connection.id} run={progress?.run ?? null} runKey={runKey} />
          <SourceRuns connectionId={connection.id} runKey={runKey} />
        </>
      )}
      <Section title={texts.source.settings}>
        {isEditing ? (
          <SourceEdit connection={connection} onDone={edited} />
        ) : (
          <>
            <SourceSettings connection={connection} connector={connector} />
            {mayManage.value && !isNew && connection.provider !== 'push' && (
              <Button label={texts.source.editSettings} onClick={() => setEditing(true)}>
                {texts.source.edit}
              </Button>
            )}
          </>
        )}
      </Section>
      {!isNew && (
        <SourceItems
          connectionId={connection.id}
          state={itemState}
          onState={(state) => setItemState(state)}
          counts={progress && JSON.stringify(progress.items)}
          onChange={onChange}
        />
      )}
    </>
  );
}

interface ActionsProps {
  connection: Connection;
  name: string;
  isNew: boolean;
  /** Whether it is offered here to choose what is mirrored. */
  mayChoose: boolean;
  question: Question | undefined;
  onAsk: (question: Question | undefined) => void;
  onChange: () => void;
}

type Question = 'full' | 'disconnect' | 'choose';

function Actions({ connection, name, isNew, mayChoose, question, onAsk, onChange }: ActionsProps) {
  const path = { connectionId: connection.id };
  const isPaused = connection.status === 'paused';
  const close = () => onAsk(undefined);
  const sync = useAction(async (body: SyncBody, said: string) => {
    await call('POST /v3/connections/{connectionId}/sync', { path, body });
    say(said);
    close();
    onChange();
  });
  const pause = useAction(async () => {
    const operation = isPaused
      ? 'POST /v3/connections/{connectionId}/resume'
      : 'POST /v3/connections/{connectionId}/pause';
    await call(operation, { path });
    say(isPaused ? texts.source.resumedNow : texts.source.pausedNow);
    onChange();
  });
  const full = { ...sync, run: () => sync.run({ mode: 'full' }, texts.source.syncStarted) };
  return (
    <>
      {!isPaused && (
        <>
          <Button look="main" isBusy={sync.isBusy} onClick={() => sync.run({}, texts.source.syncStarted)}>
            {texts.source.sync}
          </Button>
          <Button
            isBusy={sync.isBusy}
            onClick={() => sync.run({ dryRun: true, mode: 'full' }, texts.source.dryStarted)}
          >
            {texts.source.dry}
          </Button>
          <Button onClick={() => onAsk('full')}>{texts.source.full}</Button>
        </>
      )}
      {mayManage.value && (
        <>
          {!isNew && (
            <Button isBusy={pause.isBusy} onClick={() => pause.run()}>
              {isPaused ? texts.source.resume : texts.source.pause}
            </Button>
          )}
          {mayChoose && <Button onClick={() => onAsk('choose')}>{texts.source.choose}</Button>}
          <Button look="bad" onClick={() => onAsk('disconnect')}>
            {texts.source.disconnect}
          </Button>
        </>
      )}
      {(sync.error || pause.error) && question === undefined && <Notice tone="bad">{sync.error || pause.error}</Notice>}
      {question === 'full' && (
        <Confirm title={texts.source.full} action={full} confirm={texts.source.full} onClose={close}>
          <p>{texts.source.fullHelp}</p>
        </Confirm>
      )}
      {question === 'choose' && <ResourcePicker connection={connection} onClose={close} onChange={onChange} />}
      {question === 'disconnect' && <Disconnect connection={connection} name={name} onClose={close} />}
    </>
  );
}
