import { call } from '../api.ts';
import { formatDuration, formatNumber } from '../format.ts';
import { say } from '../message.ts';
import { mayWrite } from '../session.ts';
import { texts } from '../texts.ts';
import type { Progress, Run } from '../types.ts';
import { useAction } from '../use-action.ts';
import type { LiveProgress } from '../use-progress.ts';
import { Button, Notice } from './controls.tsx';

/** The counters of a source, and how far its run is. */
export function SourceProgress({ live, connectionId }: { live: LiveProgress; connectionId: string }) {
  const progress = live.progress!;
  const { run, items, documents } = progress;
  return (
    <>
      <div class="progress-place">
        {run?.status === 'running' ? (
          <RunningRun run={run} isLive={live.isLive} connectionId={connectionId} />
        ) : (
          <div role="status">
            <p class={documents.waiting > 0 ? '' : 'quiet'}>
              {documents.waiting > 0 ? texts.source.reading(documents.waiting) : texts.source.idle}
            </p>
            {documents.waiting > 0 && <ShareDone progress={progress} />}
          </div>
        )}
      </div>
      <dl class="counters" aria-label={texts.source.counters}>
        <Counter label={texts.source.done} count={items.done} />
        <Counter label={texts.source.waiting} count={items.pending + documents.waiting} />
        <Counter label={texts.source.failed} count={items.failed} />
        <Counter label={texts.source.skipped} count={items.skipped} />
        {progress.heldDeletes > 0 && <Counter label={texts.source.heldBack} count={progress.heldDeletes} />}
      </dl>
    </>
  );
}

function Counter({ label, count }: { label: string; count: number }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{formatNumber(count)}</dd>
    </div>
  );
}

function ShareDone({ progress: { documents } }: { progress: Progress }) {
  const all = documents.done + documents.failed + documents.waiting;
  return <progress aria-label={texts.source.reading(documents.waiting)} value={all - documents.waiting} max={all} />;
}

/** While it is still looked at, nobody knows how many there are. */
function countOf({ itemsProcessed, itemsTotal, itemsSeen }: Run): string {
  if (itemsTotal !== null) return `${formatNumber(itemsProcessed)} / ${formatNumber(itemsTotal)}`;
  return itemsSeen === 0 ? texts.source.looking : texts.source.foundSoFar(itemsProcessed, itemsSeen);
}

function RunningRun({ run, isLive, connectionId }: { run: Run; isLive: boolean; connectionId: string }) {
  const stop = useAction(async () => {
    await call('POST /v3/connections/{connectionId}/runs/{runId}/cancel', { path: { connectionId, runId: run.id } });
    say(texts.source.stopped);
  });
  const title = run.dryRun ? texts.source.runningDry : texts.source.running;
  const facts = [
    countOf(run),
    run.itemsPerSecond !== null && texts.source.perSecond(run.itemsPerSecond.toFixed(1)),
    run.etaMs !== null && texts.source.left(formatDuration(run.etaMs)),
    isLive ? texts.source.ends : texts.source.polled,
  ];
  return (
    <div class="stack">
      <div class="row between">
        <p>
          <strong>{title}</strong> <span class="quiet">{facts.filter(Boolean).join(' · ')}</span>
        </p>
        {mayWrite.value && (
          <Button isBusy={stop.isBusy} onClick={() => stop.run()}>
            {texts.source.stop}
          </Button>
        )}
      </div>
      <progress
        aria-label={title}
        {...(run.itemsTotal !== null && { value: run.itemsProcessed, max: Math.max(run.itemsTotal, 1) })}
      />
      {stop.error && <Notice tone="bad">{stop.error}</Notice>}
    </div>
  );
}
