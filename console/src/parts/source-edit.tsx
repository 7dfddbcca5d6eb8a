import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { filterForm, filtersOf } from '../filter-form.ts';
import { say } from '../message.ts';
import { sentSchedule } from '../schedules.ts';
import { texts } from '../texts.ts';
import type { Connection } from '../types.ts';
import { useAction } from '../use-action.ts';
import { Button, Notice, Section } from './controls.tsx';
import { FilterCounts, FilterFields } from './filter-fields.tsx';
import { ScheduleField } from './schedule-field.tsx';

interface SourceEditProps {
  connection: Connection;
  onChange: () => void;
}

/** The form for what of a source is mirrored, and how often it is looked at. */
export function SourceEdit({ connection, onDone }: { connection: Connection; onDone: () => void }) {
  const [schedule, setSchedule] = useState(connection.schedule ?? 'manual');
  const [form, setForm] = useState(() => filterForm(connection.filters));
  const save = useAction(async () => {
    const filters = filtersOf(form, connection.filters);
    const isSame = JSON.stringify(filters) === JSON.stringify(connection.filters);
    const changed = schedule === (connection.schedule ?? 'manual') ? {} : sentSchedule(schedule);
    const body = { ...changed, ...(!isSame && { filters }) };
    await call('PATCH /v3/connections/{connection}', { path: { connection: connection.id }, body });
    say(texts.source.saved);
    onDone();
  });
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        save.run();
      }}
    >
      <ScheduleField value={schedule} onChange={setSchedule} />
      <FilterFields form={form} onChange={setForm} />
      <FilterCounts connectionId={connection.id} form={form} filters={connection.filters} />
      <p class="quiet small">{texts.filters.removes}</p>
      {save.error && <Notice tone="bad">{save.error}</Notice>}
      <div class="row">
        <Button submit look="main" isBusy={save.isBusy}>
          {texts.source.save}
        </Button>
        <Button onClick={onDone}>{texts.cancel}</Button>
      </div>
    </form>
  );
}

/** A source that was connected to be looked at before anything is mirrored. */
export function SourceStart({ connection, onChange }: SourceEditProps) {
  const [form, setForm] = useState(() => filterForm(connection.filters));
  const start = useAction(async () => {
    const body = { filters: filtersOf(form, connection.filters), paused: false };
    await call('PATCH /v3/connections/{connection}', { path: { connection: connection.id }, body });
    say(texts.source.started);
    onChange();
  });
  return (
    <Section title={texts.source.notStarted}>
      <p class="quiet">{texts.source.notStartedHelp}</p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          start.run();
        }}
      >
        <FilterFields form={form} onChange={setForm} />
        <FilterCounts connectionId={connection.id} form={form} filters={connection.filters} />
        {start.error && <Notice tone="bad">{start.error}</Notice>}
        <div class="row">
          <Button submit look="main" isBusy={start.isBusy}>
            {texts.source.start}
          </Button>
        </div>
      </form>
    </Section>
  );
}
