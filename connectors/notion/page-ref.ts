import { createHash } from 'node:crypto';
import type { JsonObject, Ref } from 'memoryd/connector';
import { readProperties, type Properties } from './properties.ts';
import { titleOf, type ShownPage } from './shown.ts';

/** Notion gives times in whole minutes, so that a second edit in the same minute does not show. */
const hotMs = 2 * 60_000;
const phaseMs = 60_000;
const dayMs = 86_400_000;
/** Every page is read again within so many days, a fiftieth of them each day: edits by the API may move no time. */
const rereadDays = 50;
/** Shares of the 4 KiB and 32 KiB that the ledger keeps of a ref. */
const locatorBytes = 3_500;
const metadataBytes = 24_000;

/** The needs of `fetch` beside the properties themselves. */
export interface Wants {
  people: Properties['people'];
  pages: Properties['pages'];
  more: Properties['more'];
  createdBy: string;
  editedBy: string;
  createdAt: string;
  source?: string;
}

/** A page as the ledger keeps it. What of it is too long is read again when the page is fetched. */
export function toRef(page: ShownPage, now: Date): Ref {
  const properties = readProperties(page);
  const wants = wantsOf(page, properties);
  const isLong =
    Buffer.byteLength(JSON.stringify(wants)) > locatorBytes ||
    Buffer.byteLength(JSON.stringify(properties.values)) > metadataBytes;
  return {
    id: page.id,
    rev: revOf(page, properties, now),
    title: titleOf(page),
    url: page.url,
    updatedAt: page.last_edited_time,
    ...(isLong ? { locator: { isLong } } : { metadata: properties.values, locator: wants as unknown as JsonObject }),
  };
}

export function wantsOf(page: ShownPage, { people, pages, more }: Properties): Wants {
  const source = page.parent.type === 'data_source_id' ? page.parent.data_source_id : undefined;
  return {
    people,
    pages,
    more,
    createdBy: page.created_by.id,
    editedBy: page.last_edited_by.id,
    createdAt: page.created_time,
    ...(source === undefined ? {} : { source }),
  };
}

/**
 * The time of the last edit with what the page shows of itself. While the page is hot, and once when it is quiet
 * again, it is another one, so that edits within one minute are read; and once in fifty days it is another one anyway.
 */
function revOf(page: ShownPage, properties: Properties, now: Date): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([titleOf(page), properties.steady, page.parent]))
    .digest('base64url')
    .slice(0, 16);
  return `${page.last_edited_time}${heatOf(page, now)} ${digest} ${roundOf(page.id, now)}`;
}

/** A time that is not a whole minute was not rounded. */
const isRounded = (time: string): boolean => Date.parse(time) % phaseMs === 0;

function heatOf(page: ShownPage, now: Date): string {
  if (!isRounded(page.last_edited_time)) return '';
  const ageMs = Math.max(0, now.getTime() - Date.parse(page.last_edited_time));
  return ageMs < hotMs ? `~${Math.floor(ageMs / phaseMs)}` : '';
}

/** How often the page was read again because of its turn. */
function roundOf(id: string, now: Date): number {
  const day = Math.floor(now.getTime() / dayMs);
  const turn = createHash('sha256').update(id).digest().readUInt32BE(0) % rereadDays;
  return Math.floor((day + turn) / rereadDays);
}
