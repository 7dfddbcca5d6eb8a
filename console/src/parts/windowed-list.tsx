import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface WindowedListProps<Row> {
  label: string;
  rows: readonly Row[];
  /** How many there are in all, where that is known. */
  total?: number;
  keyOf: (row: Row) => string;
  render: (row: Row) => ComponentChildren;
  /** Called when the end comes near, until there is no more. */
  onNearEnd?: (() => void) | undefined;
}

/** Every row is as high as this, in pixels; the style sheet says the same. */
const rowHeight = 54;
/** Rows that are drawn beyond the edges of the window. */
const margin = 10;

/** A list of any length of which only what is in sight is drawn. */
export function WindowedList<Row>({ label, rows, total, keyOf, render, onNearEnd }: WindowedListProps<Row>) {
  const list = useRef<HTMLUListElement>(null);
  const [first, last] = useVisibleRows(list, rows.length);
  useEffect(() => {
    if (last >= rows.length - margin) onNearEnd?.();
  }, [last, rows.length, onNearEnd]);
  return (
    <ul ref={list} class="windowed rows" aria-label={label} style={{ height: `${rows.length * rowHeight}px` }}>
      {rows.slice(first, last).map((row, index) => (
        <li
          key={keyOf(row)}
          style={{ top: `${(first + index) * rowHeight}px` }}
          aria-posinset={first + index + 1}
          aria-setsize={total ?? (onNearEnd ? -1 : rows.length)}
        >
          {render(row)}
        </li>
      ))}
    </ul>
  );
}

function useVisibleRows(list: { current: HTMLElement | null }, count: number): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, 40]);
  useEffect(() => {
    const look = () => {
      const top = -(list.current?.getBoundingClientRect().top ?? 0);
      const first = Math.max(0, Math.floor(top / rowHeight) - margin);
      // Where the list begins below the window, its first rows are drawn all the same.
      const last = Math.max(first, Math.ceil((top + innerHeight) / rowHeight)) + margin;
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]));
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [list, count]);
  return [range[0], Math.min(range[1], count)];
}
