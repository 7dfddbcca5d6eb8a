import { useEffect, useState } from 'preact/hooks';
import { dayOf, daysAfter, daysBetween } from '../days.ts';
import { formatShortDay } from '../format.ts';
import { texts } from '../texts.ts';
import { Field, TextField } from './field.tsx';

interface AsOfProps {
  /** A day; empty: now. */
  value: string;
  /** When the first of it came, as ISO 8601. */
  since: string | undefined;
  onChange: (day: string) => void;
}

/** Chooses the day whose knowledge is shown, by its date or along a line from the beginning until now. */
export function AsOf({ value, since, onChange }: AsOfProps) {
  const today = dayOf(new Date());
  const first = since === undefined ? today : dayOf(new Date(since));
  const last = daysBetween(first, today);
  return (
    <>
      <TextField label={texts.memories.asOf} type="date" value={value} onInput={onChange} />
      {last > 0 && (
        <DayLine
          at={value === '' ? last : Math.min(Math.max(daysBetween(first, value), 0), last)}
          last={last}
          dayAt={(at) => daysAfter(first, at)}
          onChange={(at) => onChange(at === last ? '' : daysAfter(first, at))}
        />
      )}
    </>
  );
}

interface DayLineProps {
  at: number;
  last: number;
  dayAt: (at: number) => string;
  onChange: (at: number) => void;
}

/** What it would show is said while it is moved, and read when it is let go. */
function DayLine({ at, last, dayAt, onChange }: DayLineProps) {
  const [moved, setMoved] = useState(at);
  useEffect(() => setMoved(at), [at]);
  const name = moved === last ? texts.memories.asOfNow : formatShortDay(Date.parse(dayAt(moved)) / 1_000);
  return (
    <Field label={texts.memories.asOfLine} help={name}>
      {(ids) => (
        <input
          {...ids}
          type="range"
          min={0}
          max={last}
          value={moved}
          aria-valuetext={name}
          onInput={(event) => setMoved(event.currentTarget.valueAsNumber)}
          onChange={(event) => onChange(event.currentTarget.valueAsNumber)}
        />
      )}
    </Field>
  );
}
