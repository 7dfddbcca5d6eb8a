import type { Json } from '../connector/contract.ts';
import { connectorFault } from './failure.ts';
import { isObject, isPlainJson, isStorable } from './values.ts';

const maxRecords = 1_000;
const maxNameLength = 256;
const maxValueBytes = 64 * 1024;

/** The `records` of a page; none when it has none. Throws `connector_invalid` for what could not be given back as it was. */
export function checkRecords(answer: unknown, verb: string): Record<string, Json | null> {
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
