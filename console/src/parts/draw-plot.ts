import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatHour, formatSecond, formatShortDay, formatShortMoment } from '../format.ts';
import type { Series } from '../throughput.ts';

/** What is counted is whole: no step is a part of one. */
const wholeSteps = [1, 10, 100, 1_000, 10_000, 100_000].flatMap((step) => [step, 2 * step, 5 * step]);

const [minuteSeconds, hourSeconds, daySeconds] = [60, 3_600, 86_400];
const timeSteps = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteSeconds),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * hourSeconds),
  ...[1, 2, 7, 14, 30, 60, 90, 180, 365].map((days) => days * daySeconds),
];

interface Times {
  format: (seconds: number) => string;
  /** The shortest step that the format tells apart, in seconds. */
  least: number;
}

/** As fine as the stretch of time asks for. */
function timesOf({ seconds, byDay = false }: Series): Times {
  if (byDay) return { format: formatShortDay, least: daySeconds };
  const length = seconds.at(-1)! - seconds[0]!;
  if (length > 3 * daySeconds) return { format: formatShortMoment, least: minuteSeconds };
  return length < 10 * minuteSeconds
    ? { format: formatSecond, least: 1 }
    : { format: formatHour, least: minuteSeconds };
}

/** Draws into an element, again when its width or the scheme of colours changes; answers what takes it away. */
export function drawPlot(place: HTMLElement, series: Series, height: number): () => void {
  const { seconds, values } = series;
  const times = timesOf(series);
  const steps = timeSteps.filter((step) => step >= times.least);
  let plot: uPlot | undefined;
  const draw = () => {
    plot?.destroy();
    const colour = (name: string) => getComputedStyle(place).getPropertyValue(name);
    const axis: uPlot.Axis = {
      stroke: colour('--ink-2'),
      font: `12px ${colour('--font')}`,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    plot = new uPlot(
      {
        width: place.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 1)] } },
        axes: [
          { ...axis, size: 30, space: 90, incrs: steps, values: (_plot, splits) => splits.map(times.format) },
          { ...axis, size: 54, space: 30, incrs: wholeSteps },
        ],
        series: [{}, { stroke: colour('--accent'), fill: colour('--accent-soft'), width: 2, points: { show: false } }],
      },
      [seconds, values],
      place,
    );
  };
  draw();
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const sizes = new ResizeObserver(() => plot?.setSize({ width: place.clientWidth, height }));
  scheme.addEventListener('change', draw);
  sizes.observe(place);
  return () => {
    scheme.removeEventListener('change', draw);
    sizes.disconnect();
    plot?.destroy();
  };
}
