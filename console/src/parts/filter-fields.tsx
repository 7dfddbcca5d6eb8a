import { call } from '../api.ts';
import { filtersOf, type FilterForm } from '../filter-form.ts';
import { formatBytes } from '../format.ts';
import { texts } from '../texts.ts';
import { useDelayed } from '../use-delayed.ts';
import { useLoad } from '../use-load.ts';
import { Notice } from './controls.tsx';
import { TextField } from './field.tsx';

interface FilterFieldsProps {
  form: FilterForm;
  onChange: (form: FilterForm) => void;
}

export function FilterFields({ form, onChange }: FilterFieldsProps) {
  const change = (changed: Partial<FilterForm>) => onChange({ ...form, ...changed });
  const { filters } = texts;
  return (
    <>
      <TextField
        label={filters.include}
        help={filters.includeHelp}
        lines={2}
        value={form.include}
        onInput={(include) => change({ include })}
      />
      <TextField
        label={filters.exclude}
        help={filters.excludeHelp}
        lines={2}
        value={form.exclude}
        onInput={(exclude) => change({ exclude })}
      />
      <TextField
        label={filters.maxMegabytes}
        problem={form.maxMegabytes !== '' && !(Number(form.maxMegabytes) >= 0) ? filters.notANumber : undefined}
        value={form.maxMegabytes}
        onInput={(maxMegabytes) => change({ maxMegabytes })}
      />
      <TextField
        label={filters.updatedSince}
        type="date"
        value={form.updatedSince}
        onInput={(updatedSince) => change({ updatedSince })}
      />
    </>
  );
}

interface FilterCountsProps {
  connectionId: string;
  form: FilterForm;
  /** Those that are in force. */
  filters: Readonly<Record<string, unknown>>;
}

/** What the filters of the form would take of the source, counted anew when they change. */
export function FilterCounts({ connectionId, form, filters }: FilterCountsProps) {
  const asked = useDelayed(JSON.stringify(filtersOf(form, filters)));
  const { data, error, isLoading } = useLoad(
    (signal) => {
      const body = { filters: JSON.parse(asked) };
      return call('POST /v3/connections/{connectionId}/preview', { path: { connectionId }, body, signal });
    },
    [asked],
  );
  if (error) return <Notice tone="warn">{error}</Notice>;
  if (!data) return <p role="status">{texts.filters.counting}</p>;
  const { chosen, listed, examples, complete } = data;
  return (
    <div class="notice" role="status" aria-busy={isLoading}>
      <strong>{texts.filters.counts(chosen.items, listed.items)}</strong>
      {chosen.bytes > 0 && `, ${formatBytes(chosen.bytes)}`}
      {!complete && <p class="small">{texts.filters.notAll}</p>}
      <Names label={texts.filters.chosen} names={examples.chosen} />
      <Names label={texts.filters.leftOut} names={examples.leftOut} />
    </div>
  );
}

function Names({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p class="small quiet wrap">
      {label}{' '}
      {names.map((name, index) => (
        <bdi key={name}>
          {index > 0 && ' · '}
          {name}
        </bdi>
      ))}
    </p>
  );
}
