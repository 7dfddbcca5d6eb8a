import { filterForm } from '../filter-form.ts';
import { scheduleWords } from '../schedules.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { fieldsOf, type FormField } from '../schema-form.ts';
import { texts } from '../texts.ts';
import type { Connection, Connector } from '../types.ts';

interface SourceSettingsProps {
  connection: Connection;
  connector: Connector | undefined;
}

/** What its configuration says, in the words of its form. */
export function SourceSettings({ connection, connector }: SourceSettingsProps) {
  const { metadata, schedule, onSourceDelete } = connection;
  const known = fieldsOf(connector?.configSchema).filter(({ name }) => isGiven(metadata[name]));
  return (
    <dl class="facts">
      {known.map((field) => [
        <dt key={field.name}>{field.title}</dt>,
        <dd key={`${field.name} value`}>
          <bdi>{valueText(field, metadata[field.name])}</bdi>
        </dd>,
      ])}
      <dt>{texts.source.schedule}</dt>
      <dd>{scheduleWords(schedule, Intl.DateTimeFormat().resolvedOptions().timeZone)}</dd>
      <dt>{texts.source.filters}</dt>
      <dd>
        <bdi>{filterWords(connection.filters)}</bdi>
      </dd>
      <dt>{texts.source.onDelete}</dt>
      <dd>{texts.source.onDeleteOptions[onSourceDelete]}</dd>
    </dl>
  );
}

function filterWords(filters: Readonly<Record<string, unknown>>): string {
  const { include, exclude, maxMegabytes, updatedSince } = filterForm(filters);
  const { filters: words } = texts;
  const own = [
    [words.include, include.replaceAll('\n', ', ')],
    [words.exclude, exclude.replaceAll('\n', ', ')],
    [words.maxMegabytes, maxMegabytes],
    [words.updatedSince, updatedSince],
  ].flatMap(([label, value]) => (value ? [`${label}: ${value}`] : []));
  const others = Object.keys(filters).filter((name) => !ownFilters.has(name));
  return [...own, ...others].join(' · ') || texts.source.noFilters;
}

/** Those that the form has fields for. */
const ownFilters = new Set(['include', 'exclude', 'maxBytes', 'updatedSince']);

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);
}

function valueText(field: FormField, value: unknown): string {
  if (typeof value === 'boolean') return value ? texts.source.yes : texts.source.no;
  if (Array.isArray(value)) return value.join(', ');
  if (field.name.endsWith('Ms')) return formatDuration(Number(value));
  if (field.countsBytes) return formatBytes(Number(value));
  return typeof value === 'string' ? value : JSON.stringify(value);
}
