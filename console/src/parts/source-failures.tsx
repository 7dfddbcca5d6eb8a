import { call } from '../api.ts';
import { say } from '../message.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import type { Cause } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { Ago, Badge, Button, LoadProblem, Notice, Section } from './controls.tsx';

interface SourceFailuresProps {
  connectionId: string;
  /** Changes when it is worth reading them again. */
  counts: string | undefined;
  onShow: (state: Cause['state']) => void;
  onChange: () => void;
}

export function SourceFailures({ connectionId, counts, onShow, onChange }: SourceFailuresProps) {
  const path = { connectionId };
  const { data, error, reload } = useLoad(
    (signal) => call('GET /v3/connections/{connectionId}/failures', { path, signal }),
    [connectionId, counts],
  );
  const retry = useAction(async (cause: Cause) => {
    const body = { state: [cause.state], ...(cause.class !== null && { class: [cause.class] }) };
    const { retried } = await call('POST /v3/connections/{connectionId}/items/retry', { path, body });
    say(texts.source.retried(retried));
    reload();
    onChange();
  });
  return (
    <Section title={texts.source.failures}>
      <LoadProblem error={error} reload={reload} />
      {retry.error && <Notice tone="bad">{retry.error}</Notice>}
      {!data && !error && <p class="line quiet">{texts.loading}</p>}
      {data?.causes.length === 0 && <p class="line quiet">{texts.source.noFailures}</p>}
      <ul class="rows">
        {data?.causes.map((cause) => (
          <CauseLine
            key={`${cause.state} ${cause.class}`}
            cause={cause}
            isBusy={retry.isBusy}
            onShow={() => onShow(cause.state)}
            onRetry={() => retry.run(cause)}
          />
        ))}
      </ul>
    </Section>
  );
}

interface CauseLineProps {
  cause: Cause;
  isBusy: boolean;
  onShow: () => void;
  onRetry: () => void;
}

function CauseLine({ cause, isBusy, onShow, onRetry }: CauseLineProps) {
  const title = causeTitle(cause.class);
  return (
    <li class="line wide roomy">
      <span class="grow">
        <Badge tone={cause.state === 'skipped' ? 'quiet' : 'bad'}>
          {title} · {cause.count}
        </Badge>
        {cause.message && cause.message.toLowerCase() !== title.toLowerCase() && (
          <bdi class="sub wrap">{cause.message}</bdi>
        )}
        <span class="quiet small sub">
          <bdi>{cause.remedy}</bdi>
          {cause.nextRetryAt && (
            <>
              {` ${texts.source.tryAgainAt('')}`}
              <Ago at={cause.nextRetryAt} />
            </>
          )}
        </span>
      </span>
      <Button look="plain" label={texts.source.showItemsOf(title)} onClick={onShow}>
        {texts.source.showItems}
      </Button>
      {mayWrite.value && cause.retriable && (
        <Button look="plain" isBusy={isBusy} label={texts.source.retryAll(title)} onClick={onRetry}>
          {texts.source.retry}
        </Button>
      )}
    </li>
  );
}

function causeTitle(name: string | null): string {
  return texts.causes[name ?? 'other'] ?? texts.otherCause(name ?? 'other');
}
