import { MemorydError } from '../base/errors.ts';
import type { Resource } from '../connector/contract.ts';

export interface ResourceQuery {
  /** Id of the resource to look into; absent: the top level. */
  parent?: string | undefined;
  /** 1-based. */
  page: number;
  perPage: number;
}

export interface ResourceList {
  resources: (Resource & { selected: boolean })[];
  /** Null when the source does not tell. */
  total: number | null;
}

/** A resource as a caller chooses it; what else was listed of it is kept for the connector. */
export interface SelectedResource extends Record<string, unknown> {
  id: string | number;
}

export function noResources(provider: string): MemorydError {
  return new MemorydError('unsupported_operation', `Connections to ${provider} have no resources to choose from`);
}
