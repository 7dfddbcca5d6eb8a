import { useEffect, useRef } from 'preact/hooks';
import type { Series } from '../throughput.ts';

const height = 130;

/** Values over time. What draws them is read only when there is something to draw. */
export function Plot({ series, label }: { series: Series; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isGone = false;
    let remove = () => {};
    void import('./draw-plot.ts').then(({ drawPlot }) => {
      if (!isGone) remove = drawPlot(place.current!, series, height);
    });
    return () => {
      isGone = true;
      remove();
    };
  }, [JSON.stringify(series)]);
  return <div ref={place} class="plot" role="img" aria-label={label} />;
}
