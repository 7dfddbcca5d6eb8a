import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { formatNumber } from '../format.ts';
import { texts } from '../texts.ts';
import { throughputOfRuns, throughputOfSamples, withSample, type Sample } from '../throughput.ts';
import type { Run } from '../types.ts';
import { useLoad } from '../use-load.ts';
import { Section } from './controls.tsx';
import { Plot } from './plot.tsx';

const shownRuns = 60;
/** Fewer points are no course. */
const fewestPoints = 2;

interface SourceThroughputProps {
  connectionId: string;
  run: Run | null;
  /** Changes when there is another run. */
  runKey: string;
}

/** How fast items come: within the run that goes on, or else from run to run. */
export function SourceThroughput({ connectionId, run, runKey }: SourceThroughputProps) {
  const samples = useSamples(run);
  const { data } = useLoad(
    (signal) =>
      call('GET /v3/connections/{connectionId}/runs', { path: { connectionId }, query: { limit: shownRuns }, signal }),
    [connectionId, runKey],
  );
  const live = throughputOfSamples(samples);
  const isLive = run?.status === 'running' && live.values.length >= fewestPoints;
  const series = isLive ? live : throughputOfRuns(data ?? []);
  const { throughput, throughputLive, throughputRuns, throughputLabel } = texts.source;
  if (series.values.length < fewestPoints) {
    // As high as the plot, so that nothing moves when there is one.
    return (
      <Section title={throughput}>
        <p class="plot none quiet">{texts.source.throughputNone}</p>
      </Section>
    );
  }
  const [last, most] = [series.values.at(-1)!, Math.max(...series.values)];
  return (
    <Section title={throughput} note={isLive ? throughputLive : throughputRuns}>
      <Plot series={series} label={throughputLabel(formatNumber(Math.round(last)), formatNumber(Math.round(most)))} />
    </Section>
  );
}

/** How far the run was, since somebody looks at it. */
function useSamples(run: Run | null): Sample[] {
  const [samples, setSamples] = useState<Sample[]>([]);
  const running = run?.status === 'running' ? run.id : undefined;
  useEffect(() => setSamples([]), [running]);
  useEffect(() => {
    if (!run || running === undefined) return;
    setSamples((before) => withSample(before, { atMs: new Date().getTime(), processed: run.itemsProcessed }));
  }, [running, run?.itemsProcessed]);
  return samples;
}
