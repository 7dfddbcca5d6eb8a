import type { JsonObject } from '../connector/contract.ts';

/** The content of another memory service, read page by page. */
export interface ImportSource {
  /** Containers of memoryd with what goes into them, in a steady order. */
  containers(): Promise<string[]>;
  /** A body for `PATCH /v3/settings`; null when the service has no settings. */
  settings(): Promise<JsonObject | null>;
  /** A body for `PATCH /v3/container-tags/{tag}`; null when nothing is set. */
  containerSettings(container: string): Promise<JsonObject | null>;
  /** Pages count from 1. */
  documents(container: string, page: number): Promise<ImportPage>;
  memories(container: string, page: number): Promise<ImportPage>;
}

export interface ImportPage {
  /** Entries for `POST /v3/documents/batch` or `POST /v4/memories`, without the container. */
  entries: JsonObject[];
  /** Why others on the page stay behind, a reason each. */
  left: string[];
  isLast: boolean;
}

export const nothing: ImportPage = { entries: [], left: [], isLast: true };

/** Without what is null or absent. */
export function present(fields: Record<string, unknown>): JsonObject {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given) as JsonObject;
}
