import { call } from '../api.ts';
import { formatDuration } from '../format.ts';
import { changesOf, changesOfRun } from '../run-changes.ts';
import { texts } from '../texts.ts';
import type { Tone } from '../tone.ts';
import type { Run } from '../types.ts';
import { usePages } from '../use-pages.ts';
import { Ago, Badge, Coded, LoadProblem, More, Section } from './controls.tsx';

const pageSize = 15;
const tones: Readonly<Record<Run['status'], Tone>> = { running: 'busy', completed: 'good', failed: 'bad' };

/** The runs of a source, newest first. `runKey` changes when there is another one. */
export function SourceRuns({ connectionId, runKey }: { connectionId: string; runKey: string }) {
  const pages = usePages(
    async (before, signal) => {
      const query = { limit: pageSize, ...(before && { before }) };
      const items = await call('GET /v3/connections/{connectionId}/runs', { path: { connectionId }, query, signal });
      return { items, next: items.length < pageSize ? null : items.at(-1)!.id };
    },
    [connectionId, runKey],
  );
  return (
    <Section title={texts.source.runs}>
      <LoadProblem error={pages.error} reload={pages.reload} />
      {pages.rows.length === 0 && !pages.error && (
        <p class="line quiet">{pages.isLoading ? texts.loading : texts.source.noRuns}</p>
      )}
      <ul class="rows">
        {pages.rows.map((run) => (
          <li key={run.id} class="line wide">
            <Badge tone={tones[run.status]}>{texts.source.runStatus[run.status]}</Badge>
            <span class="grow">
              {resultOf(run)}
              {run.error && (
                <bdi class="wrap">
                  {' '}
                  <Coded text={run.error} />
                </bdi>
              )}
              {run.warnings.map(({ message }) => (
                <bdi key={message} class="small quiet wrap">
                  {' '}
                  {message}
                </bdi>
              ))}
            </span>
            <span class="quiet small">
              {kindOf(run)} · <Ago at={run.startedAt} />
            </span>
          </li>
        ))}
      </ul>
      <More read={pages.readMore} />
    </Section>
  );
}

function resultOf(run: Run): string {
  const changes = changesOf(changesOfRun(run));
  if (changes === '') return run.status === 'completed' ? texts.source.nothingNew : '';
  return run.report ? `${texts.source.would}${changes}` : changes;
}

function kindOf({ dryRun, mode, triggerType, startedAt, completedAt }: Run): string {
  const took = completedAt === null ? '' : formatDuration(Date.parse(completedAt) - Date.parse(startedAt));
  const kind = dryRun ? texts.source.dryRun : texts.source.runModes[mode];
  // A whole listing that nobody asked for is the first one, or makes up for changes that were missed.
  const trigger = triggerType === 'event' && mode === 'full' ? 'own' : triggerType;
  return [kind, texts.source.triggers[trigger], took].filter(Boolean).join(' · ');
}
