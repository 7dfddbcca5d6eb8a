import { useEffect, useRef } from 'preact/hooks';
import { formatNumber } from '../format.ts';
import type { GrowthSeries } from '../growth.ts';
import { texts } from '../texts.ts';

const height = 130;

/** How many documents there were, day by day. What draws it is read only when there is something to draw. */
export function GrowthPlot({ series }: { series: GrowthSeries }) {
  const place = useRef<HTMLDivElement>(null);
  const { documents } = series;
  useEffect(() => {
    let isGone = false;
    let remove = () => {};
    void import('./draw-growth.ts').then(({ drawGrowth }) => {
      if (!isGone) remove = drawGrowth(place.current!, series, height);
    });
    return () => {
      isGone = true;
      remove();
    };
  }, [JSON.stringify(series)]);
  const label = texts.home.growthLabel(
    formatNumber(documents[0]!),
    formatNumber(documents.at(-1)!),
    series.seconds.length,
  );
  return <div ref={place} class="plot" role="img" aria-label={label} />;
}
