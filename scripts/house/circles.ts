export interface Arrow {
  from: string;
  to: string;
}

/** Groups of places that reach each other, each sorted. */
export function circlesOf(arrows: readonly Arrow[]): string[][] {
  const targets = new Map(
    Map.groupBy(arrows, ({ from }) => from)
      .entries()
      .map(([from, all]) => [from, new Set(all.map(({ to }) => to))]),
  );
  const reached = new Map([...targets.keys()].map((from) => [from, reachedFrom(from, targets)]));
  const circles = [...reached].map(([from, all]) =>
    [...all].filter((to) => to === from || reached.get(to)?.has(from)).toSorted(),
  );
  const distinct = new Map(circles.filter((circle) => circle.length > 1).map((circle) => [circle.join('\n'), circle]));
  return [...distinct.values()];
}

function reachedFrom(start: string, targets: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set<string>();
  const waiting = [start];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    for (const target of targets.get(place) ?? []) {
      if (reached.has(target)) continue;
      reached.add(target);
      waiting.push(target);
    }
  }
  return reached.has(start) ? reached : new Set();
}
