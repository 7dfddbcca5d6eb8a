import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatShortDay } from '../format.ts';
import type { GrowthSeries } from '../growth.ts';

/** Documents are counted: no step is a part of one. */
const wholeSteps = [1, 10, 100, 1_000, 10_000, 100_000].flatMap((step) => [step, 2 * step, 5 * step]);

/** Draws into an element, again when its width or the scheme of colours changes; answers what takes it away. */
export function drawGrowth(place: HTMLElement, { seconds, documents }: GrowthSeries, height: number): () => void {
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
          { ...axis, space: 90, values: (_plot, splits) => splits.map(formatShortDay) },
          { ...axis, size: 54, space: 30, incrs: wholeSteps },
        ],
        series: [{}, { stroke: colour('--accent'), fill: colour('--accent-soft'), width: 2, points: { show: false } }],
      },
      [seconds, documents],
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
