import { call } from '../api.ts';
import { causesOf, type Cause } from '../failure-causes.ts';
import { say } from '../message.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import type { ItemPage } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { Badge, Button, LoadProblem, Notice, Section } from './controls.tsx';

interface SourceFailuresProps {
  connectionId: string;
  /** Changes when it is worth reading them again. */
  counts: string | undefined;
  onShow: (state: string) => void;
  onChange: () => void;
}

const troubled = 'state=failed&state=dead&state=skipped';

export function SourceFailures({ connectionId, counts, onShow, onChange }: SourceFailuresProps) {
  const path = `/v3/connections/${connectionId}/items`;
  const { data, error, reload } = useLoad(
    (signal) => call<ItemPage>('GET', `${path}?${troubled}&limit=100`, { signal }),
    [path, counts],
  );
  const retry = useAction(async ({ name, states }: Cause) => {
    const state = states.filter((each) => each === 'failed' || each === 'dead' || each === 'skipped');
    const { retried } = await call<{ retried: number }>('POST', `${path}/retry`, { body: { class: name, state } });
    say(texts.source.retried(retried));
    reload();
    onChange();
  });
  const causes = causesOf(data?.items ?? []);
  return (
    <Section title={texts.source.failures}>
      <LoadProblem error={error} reload={reload} />
      {retry.error && <Notice tone="bad">{retry.error}</Notice>}
      {data && causes.length === 0 && <p class="line quiet">{texts.source.noFailures}</p>}
      <ul class="rows">
        {causes.map((cause) => (
          <li key={cause.name} class="line wide">
            <span class="grow">
              <Badge tone={cause.states.includes('skipped') ? 'quiet' : 'bad'}>
                {cause.title} · {data?.next ? `${cause.count}+` : cause.count}
              </Badge>
              {cause.message && <bdi class="sub wrap">{cause.message}</bdi>}
              <span class="quiet small sub">{cause.remedy}</span>
            </span>
            <Button look="plain" onClick={() => onShow(cause.states[0]!)}>
              {texts.source.showItems}
            </Button>
            {mayWrite.value && (
              <Button
                look="plain"
                isBusy={retry.isBusy}
                label={texts.source.retryAll(cause.title)}
                onClick={() => retry.run(cause)}
              >
                {texts.source.retry}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
