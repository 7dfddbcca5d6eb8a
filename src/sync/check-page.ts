import { present } from '../base/collections.ts';
import { isStorable, storableText } from '../base/storable.ts';
import { hash } from 'node:crypto';
import type { Json, Page, Partition, UnreadPart } from '../connector/contract.ts';
import { connectorFault } from './failure.ts';
import { checkRef, itemKey, type ListedRef, isObject, isPlainJson } from './check-item.ts';

/** Parts that are told apart; a source in which more cannot be read was not seen. */
export const maxUnread = 200;

const shownParts = 5;

/** Says which parts of a source could not be read, why, and what that means for what memory holds of them. */
export function unreadMessage(parts: readonly UnreadPart[]): string {
  const shown = parts.slice(0, shownParts).map(({ path, reason }) => `${path} (${reason})`);
  const more = parts.length > shownParts ? `, and ${parts.length - shownParts} more` : '';
  return `Could not be read: ${shown.join(', ')}${more}. What memory holds of it stays as it was.`;
}

/** A page as the connector gave it, with everything left out that could not be used. */
export interface CheckedPage extends Page {
  refs: ListedRef[];
  gone: string[];
  missing: string[];
  outside: string[];
  unread: UnreadPart[];
  done: boolean;
  records: Record<string, Json | null>;
  /** Oddities of the page, once per kind. */
  remarks: PageRemark[];
}

interface PageRemark {
  code: 'invalid_items' | 'large_page';
  message: string;
}

const maxCursorBytes = 64 * 1024;

/** Larger pages work, but cost memory and time to repeat. */
const adviceRefs = 10_000;

/**
 * The page in an answer of `list`, `changes` or `lookup`. Refs that cannot be used are left out with
 * a remark, and make a listing incomplete, so that nothing is removed because of them. Throws
 * `connector_invalid` when it is no page or its cursor cannot be kept.
 */
export function checkPage(answer: unknown, verb: string): CheckedPage {
  if (!isObject(answer)) throw connectorFault(`${verb} answered ${kindOf(answer)} instead of a page.`);
  if (!Array.isArray(answer['refs'])) throw connectorFault(`A page of ${verb} has no list of refs.`);
  const { refs, problems } = checkRefs(answer['refs']);
  const gone = checkIds(answer['gone'], 'gone', problems);
  const missing = checkIds(answer['missing'], 'missing', problems);
  const outside = checkIds(answer['outside'], 'outside', problems);
  const unread = checkUnread(answer['unread'], problems);
  const next = checkCursor(answer['next'], verb);
  const records = checkRecords(answer['records'], verb);
  const remarks = remarksOf(verb, answer['refs'].length, problems);
  const invalid = remarks.find((remark) => remark.code === 'invalid_items');
  const incomplete = textOf(answer['incomplete']) ?? invalid?.message;
  const total = answer['total'];
  return {
    ...{ refs, gone, missing, outside, unread, records, remarks },
    done: answer['done'] === true,
    ...present({ next, incomplete }),
    ...(Number.isSafeInteger(total) && (total as number) >= 0 ? { total: Math.min(total as number, 2 ** 31 - 1) } : {}),
  };
}

function checkRefs(answer: readonly unknown[]): { refs: ListedRef[]; problems: string[] } {
  const refs: ListedRef[] = [];
  const problems: string[] = [];
  for (const one of answer) {
    const ref = checkRef(one);
    if (typeof ref === 'string') problems.push(ref);
    else refs.push(ref);
  }
  return { refs, problems };
}

function checkIds(answer: unknown, name: 'gone' | 'missing' | 'outside', problems: string[]): string[] {
  if (answer === undefined || answer === null) return [];
  if (!Array.isArray(answer)) {
    problems.push(`\`${name}\` is no list of ids`);
    return [];
  }
  const ids = answer.filter((id): id is string => typeof id === 'string' && id !== '' && isStorable(id));
  if (ids.length < answer.length) problems.push(`\`${name}\` holds something that is no id`);
  return ids.map(itemKey);
}

function checkUnread(answer: unknown, problems: string[]): UnreadPart[] {
  if (answer === undefined || answer === null) return [];
  const parts = Array.isArray(answer) ? (answer as unknown[]) : [answer];
  return parts.flatMap((part) => {
    const { path, reason } = isObject(part) ? part : {};
    const [place, words] = [textOf(path), textOf(reason)];
    if (place !== undefined && place === path) return [{ path: place, reason: words ?? 'It could not be read.' }];
    problems.push('`unread` holds something that names no part');
    return [];
  });
}

function remarksOf(verb: string, size: number, problems: readonly string[]): PageRemark[] {
  const remarks: PageRemark[] = [];
  if (problems.length > 0) {
    const more = problems.length > 1 ? ` (${problems.length} in one page)` : '';
    const message = `${verb} gave items that cannot be used: ${problems[0]}${more}. This is to be mended in the connector.`;
    remarks.push({ code: 'invalid_items', message });
  }
  if (size > adviceRefs) {
    const message = `${verb} gave a page of ${size} items. Pages of up to ${adviceRefs} need less memory and lose less when a run stops.`;
    remarks.push({ code: 'large_page', message });
  }
  return remarks;
}

/** A cursor of the source. Throws `connector_invalid` for what could not be given back as it was. */
export function checkCursor(cursor: unknown, verb: string): Json | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  if (!isPlainJson(cursor)) {
    throw connectorFault(
      `The cursor of ${verb} is not JSON, so it would not survive a restart.`,
      'It must be made of plain objects, lists, texts, finite numbers and booleans.',
    );
  }
  const bytes = Buffer.byteLength(JSON.stringify(cursor));
  if (bytes <= maxCursorBytes) return cursor as Json;
  throw connectorFault(
    `The cursor of ${verb} has ${bytes} bytes; at most ${maxCursorBytes} are kept.`,
    'It should say where to go on, not what was seen.',
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? storableText(value, 500) : undefined;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;
}

const maxPartitionIdBytes = 1_000;

/** The partitions in an answer of `partitions`, one for each id. Throws `connector_invalid` for anything else. */
export function checkPartitions(answer: unknown): Partition[] {
  if (!Array.isArray(answer)) throw connectorFault(`partitions answered ${kindOf(answer)} instead of a list.`);
  const byId = new Map<string, Partition>();
  for (const one of answer as unknown[]) {
    const id = isObject(one) ? one['id'] : undefined;
    if (typeof id !== 'string' || id === '' || !isStorable(id) || Buffer.byteLength(id) > maxPartitionIdBytes) {
      throw connectorFault(`partitions gave one whose id is not a text of 1 to ${maxPartitionIdBytes} bytes.`);
    }
    const { title, resource, unread } = one as Record<string, unknown>;
    const reason = textOf(unread);
    byId.set(id, {
      id,
      ...present({
        unread: reason,
        title: typeof title === 'string' ? storableText(title, 500) : undefined,
        resource: typeof resource === 'string' ? storableText(resource) : undefined,
      }),
    });
  }
  return [...byId.values()];
}

/** Sees that a source is read to its end. */
export interface PageGuard {
  /** Throws `connector_invalid` when this page shows that reading would never end. */
  pass(from: Json | undefined, page: CheckedPage): void;
}

const maxIdlePages = 1_000;
const rememberedCursors = 200_000;

/**
 * Finds pages that lead nowhere: one that leads to itself or back to where reading has been, and too
 * many in a row that are empty or show the items of an earlier one.
 */
export function createPageGuard(verb: string): PageGuard {
  const cursors = new Set<string>();
  const pages = new Set<string>();
  let idle = 0;
  return {
    pass(from, page) {
      if (from !== undefined) cursors.add(digest(JSON.stringify(from)));
      if (page.done || page.next === undefined) return;
      if (cursors.has(digest(JSON.stringify(page.next)))) {
        throw connectorFault(`${verb} leads back to a cursor that was read before, so it would never end.`);
      }
      if (cursors.size > rememberedCursors) cursors.clear();
      const items = page.refs.length + page.gone.length + page.missing.length === 0 ? '' : digest(idsOf(page));
      idle = items === '' || pages.has(items) ? idle + 1 : 0;
      if (pages.size > rememberedCursors) pages.clear();
      pages.add(items);
      if (idle < maxIdlePages) return;
      throw connectorFault(`${verb} gave ${idle} pages in a row without anything new, and there is no end to it.`);
    },
  };
}

function idsOf({ refs, gone, missing }: CheckedPage): string {
  return [...refs.map((ref) => ref.id), '', ...gone, '', ...missing].join('\n');
}

function digest(text: string): string {
  return hash('sha1', text, 'base64');
}

const maxRecords = 1_000;
const maxNameLength = 256;
const maxValueBytes = 64 * 1024;

/** The `records` of a page; none when it has none. Throws `connector_invalid` for what could not be given back as it was. */
function checkRecords(answer: unknown, verb: string): Record<string, Json | null> {
  if (answer === undefined || answer === null) return {};
  if (!isObject(answer)) throw connectorFault(`\`records\` of ${verb} are no object.`);
  const entries = Object.entries(answer).filter(([, value]) => value !== undefined);
  if (entries.length > maxRecords) {
    throw connectorFault(
      `A page of ${verb} has ${entries.length} records; at most ${maxRecords} are stored with one page.`,
      'They can be spread over several pages, which need not show items.',
    );
  }
  for (const [name, value] of entries) checkRecord(name, value, verb);
  return Object.fromEntries(entries) as Record<string, Json | null>;
}

function checkRecord(name: string, value: unknown, verb: string): void {
  if (name === '' || name.length > maxNameLength || !isStorable(name)) {
    throw connectorFault(`A record of ${verb} has a name that is not a text of 1 to ${maxNameLength} characters.`);
  }
  const shown = JSON.stringify(name);
  if (!isPlainJson(value)) {
    throw connectorFault(
      `The record ${shown} of ${verb} is not JSON, so it would not survive a restart.`,
      'It must be made of plain objects, lists, texts, finite numbers and booleans.',
    );
  }
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= maxValueBytes) return;
  throw connectorFault(
    `The record ${shown} of ${verb} has ${bytes} bytes; at most ${maxValueBytes} are stored.`,
    'It can be split into several records.',
  );
}
