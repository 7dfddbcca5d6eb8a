/** The filters of a source as a form holds them. */
export interface FilterForm {
  include: string;
  exclude: string;
  maxMegabytes: string;
  updatedSince: string;
}

const bytesPerMegabyte = 1_000_000;

const text = (value: unknown) => (typeof value === 'string' ? value : '');
const lines = (value: unknown) => (Array.isArray(value) ? value.join('\n') : '');

export function filterForm(filters: Readonly<Record<string, unknown>>): FilterForm {
  const { include, exclude, maxBytes, updatedSince } = filters;
  return {
    include: lines(include),
    exclude: lines(exclude),
    maxMegabytes: typeof maxBytes === 'number' ? String(maxBytes / bytesPerMegabyte) : '',
    updatedSince: text(updatedSince).slice(0, 10),
  };
}

/** What the form says, beside the filters that it has no fields for. */
export function filtersOf(
  { include, exclude, maxMegabytes, updatedSince }: FilterForm,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { include: _i, exclude: _e, maxBytes: _m, updatedSince: since, ...others } = before;
  const globs = (value: string) => value.split('\n').flatMap((line) => line.trim() || []);
  const bytes = Math.round(Number(maxMegabytes) * bytesPerMegabyte);
  // A time of the day that was set elsewhere stays, as long as the day does.
  const sinceTime = text(since).startsWith(updatedSince) ? text(since) : updatedSince;
  return {
    ...others,
    ...(globs(include).length > 0 && { include: globs(include) }),
    ...(globs(exclude).length > 0 && { exclude: globs(exclude) }),
    ...(maxMegabytes.trim() !== '' && bytes >= 0 && { maxBytes: bytes }),
    ...(updatedSince !== '' && { updatedSince: sinceTime }),
  };
}
