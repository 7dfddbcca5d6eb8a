import type { MetadataValue } from 'memoryd/connector';
import { plainText, type ShownPage, type ShownProperty } from './shown.ts';

/** The properties of a page by name, and what of them is known by its id only. */
export interface Properties {
  values: Record<string, MetadataValue>;
  /** Ids of people whose names the page does not show. */
  people: Record<string, string[]>;
  /** Ids of related pages. */
  pages: Record<string, string[]>;
  /** Ids of properties that have more entries than a page shows. */
  more: Record<string, string>;
  /** Values that change only when somebody edits the page: without formulas, which may tell the time, and rollups. */
  steady: unknown[];
}

/** A page shows so many entries of a property at most. https://developers.notion.com/reference/retrieve-a-page */
const shownEntries = 25;
const longestText = 2_000;

interface Person {
  id: string;
  name?: string | null;
}

const volatile = new Set(['formula', 'rollup', 'last_edited_time', 'last_edited_by', 'button']);

export function readProperties({ properties }: Pick<ShownPage, 'properties'>): Properties {
  const read: Properties = { values: {}, people: {}, pages: {}, more: {}, steady: [] };
  for (const [name, property] of Object.entries(properties).toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const isTitle = property.type === 'title';
    const entries = entriesOf(property);
    const isCut = (property as { has_more?: boolean }).has_more === true || entries.length >= shownEntries;
    if (isCut && !isTitle) read.more[name] = property.id;
    const ids = idsOf(property);
    if (property.type === 'relation' && ids.length > 0) read.pages[name] = ids;
    const nameless = peopleOf(property).filter((person) => !person.name);
    if (nameless.length > 0) read.people[name] = peopleOf(property).map(({ id }) => id);
    const value = valueOf(property);
    if (!isTitle && value !== undefined) read.values[name] = value;
    if (!volatile.has(property.type)) read.steady.push([name, isTitle ? entries : (value ?? null), ids]);
  }
  return read;
}

function entriesOf(property: ShownProperty): readonly unknown[] {
  const value = (property as unknown as Record<string, unknown>)[property.type];
  if (property.type === 'title' || property.type === 'rich_text') {
    return (value as { plain_text: string }[]).map((part) => part.plain_text);
  }
  return property.type === 'relation' || property.type === 'people' ? (value as unknown[]) : [];
}

function idsOf(property: ShownProperty): string[] {
  if (property.type === 'relation') return property.relation.map(({ id }) => id);
  return peopleOf(property).map(({ id }) => id);
}

function peopleOf(property: ShownProperty): Person[] {
  if (property.type === 'people') return property.people;
  if (property.type === 'created_by') return [property.created_by];
  return property.type === 'last_edited_by' ? [property.last_edited_by] : [];
}

/** A property's value; undefined when it is empty, or when only names would show it. */
export function valueOf(property: { type: string; id?: string }): MetadataValue | undefined {
  const shown = property as unknown as Record<string, any>;
  const value = shown[property.type];
  if (value === null || value === undefined) return undefined;
  return readers[property.type]?.(value);
}

const some = <Value extends string | string[]>(value: Value): Value | undefined =>
  value.length === 0 ? undefined : value;
const text = (value: string): string | undefined => some(value.slice(0, longestText));
const named = (value: { name: string }) => text(value.name);
const peoplesNames = (people: Person[]) => some(people.flatMap(({ name }) => (name ? [name] : [])));

/** By the type of a property. What is not here (buttons, places of later versions) says nothing. */
const readers: Record<string, (value: any) => MetadataValue | undefined> = {
  rich_text: (value) => text(plainText(value)),
  number: (value: number) => value,
  checkbox: (value: boolean) => value,
  select: named,
  status: named,
  multi_select: (value: { name: string }[]) => some(value.map(({ name }) => name)),
  date: dateText,
  url: text,
  email: text,
  phone_number: text,
  created_time: text,
  last_edited_time: text,
  people: peoplesNames,
  created_by: (value: Person) => value.name ?? undefined,
  last_edited_by: (value: Person) => value.name ?? undefined,
  // Their addresses are signed for an hour; the names are all that lasts.
  files: (value: { name: string }[]) => some(value.map(({ name }) => name)),
  unique_id: ({ prefix, number }: { prefix: string | null; number: number | null }) =>
    number === null ? undefined : `${prefix ? `${prefix}-` : ''}${number}`,
  verification: ({ state }: { state?: string }) => (state ? text(state) : undefined),
  place: ({ name, address }: { name?: string | null; address?: string | null }) => text(name ?? address ?? ''),
  formula: (value: { type: string }) => valueOfComputed(value),
  rollup: (value: { type: string }) => valueOfComputed(value),
};

function dateText({ start, end }: { start: string; end: string | null }): string {
  return end ? `${start} to ${end}` : start;
}

function valueOfComputed(value: { type: string }): MetadataValue | undefined {
  const computed = (value as unknown as Record<string, any>)[value.type];
  if (computed === null || computed === undefined) return undefined;
  if (value.type === 'date') return dateText(computed);
  if (value.type === 'array') {
    const entries = (computed as { type: string }[]).flatMap((entry) => textsOf(entry));
    return some(entries);
  }
  if (typeof computed === 'string') return text(computed);
  return typeof computed === 'number' || typeof computed === 'boolean' ? computed : undefined;
}

function textsOf(entry: { type: string }): string[] {
  if (entry.type === 'title') return [plainText((entry as unknown as { title: { plain_text: string }[] }).title)];
  const value = valueOf(entry);
  return value === undefined ? [] : Array.isArray(value) ? value : [String(value)];
}
