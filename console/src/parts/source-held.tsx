import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import { useAction } from '../use-action.ts';
import { usePages } from '../use-pages.ts';
import { Button, LoadProblem, Notice, Section } from './controls.tsx';
import { Confirm } from './dialog.tsx';
import { ItemLine } from './source-items.tsx';
import { WindowedList } from './windowed-list.tsx';

interface SourceHeldProps {
  connectionId: string;
  count: number;
  onChange: () => void;
}

/** Deletions that wait for somebody who looks at them. */
export function SourceHeld({ connectionId, count, onChange }: SourceHeldProps) {
  const [isAsking, setAsking] = useState(false);
  const path = { connectionId };
  const pages = usePages(
    (cursor, signal) =>
      call('GET /v3/connections/{connectionId}/pending-deletes', {
        path,
        query: { limit: 100, ...(cursor && { cursor }) },
        signal,
      }),
    [connectionId, count],
  );
  const keep = useAction(async () => {
    await call('POST /v3/connections/{connectionId}/pending-deletes/reject', { path });
    say(texts.source.kept(count));
    onChange();
  });
  const confirm = useAction(async () => {
    await call('POST /v3/connections/{connectionId}/pending-deletes/confirm', { path });
    setAsking(false);
    say(texts.source.confirmed(count));
    onChange();
  });
  return (
    <Section title={texts.source.held}>
      <div class="line wide roomy">
        <p class="grow">{texts.source.heldHelp(count)}</p>
        {mayWrite.value && (
          <div class="row">
            <Button look="main" isBusy={keep.isBusy} onClick={() => keep.run()}>
              {texts.source.keep(count)}
            </Button>
            <Button look="bad" onClick={() => setAsking(true)}>
              {texts.source.confirm(count)}
            </Button>
          </div>
        )}
      </div>
      {keep.error && <Notice tone="bad">{keep.error}</Notice>}
      <LoadProblem error={pages.error} reload={pages.reload} />
      <WindowedList
        label={texts.source.held}
        rows={pages.rows}
        total={count}
        keyOf={(item) => item.id}
        render={(item) => <ItemLine item={item} isHeld />}
        onNearEnd={pages.readMore}
      />
      {isAsking && (
        <Confirm
          title={texts.source.confirmTitle(count)}
          action={confirm}
          confirm={texts.source.confirm(count)}
          isDangerous
          onClose={() => setAsking(false)}
        >
          <p>{texts.source.confirmHelp(count)}</p>
        </Confirm>
      )}
    </Section>
  );
}
