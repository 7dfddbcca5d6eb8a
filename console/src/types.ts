/** Names for what the HTTP API answers; the shapes are those of its description. */
import type { Connection, Operations, SyncItem, SyncRun } from './operations.ts';

export type { Connection };

export type Operation = keyof Operations;
/** What an operation answers. */
export type Answer<Name extends Operation> = Operations[Name]['answer'];
/** What an operation takes as its body. */
type Body<Name extends Operation> = Operations[Name] extends { body?: infer Given } ? NonNullable<Given> : never;

export type ConsoleSession = Answer<'GET /console/session'>;
export type Session = ConsoleSession['session'];

export type Connector = Answer<'GET /v3/connectors'>[number];
export type ConnectorSpec = Answer<'GET /v3/connectors/{name}/spec'>;
export type AuthKind = ConnectorSpec['auth'][number];
export type NewConnection = Body<'POST /v3/connections/{connection}'>;
export type Hook = Answer<'GET /v3/connectors/{name}/hook'>;

/** What a form is made from; the API passes on what the connector wrote. */
export interface JsonSchema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  pattern?: string;
  [extension: `x-${string}`]: unknown;
}

export type SelectedResource = Connection['selection'][number];
export type Resource = Answer<'GET /v3/connections/{connectionId}/resources'>['resources'][number];
export type Progress = Answer<'GET /v3/connections/{connectionId}/progress'>;
export type Run = SyncRun;
export type SyncBody = Body<'POST /v3/connections/{connectionId}/sync'>;
export type Item = SyncItem;
export type ItemState = Item['state'];
/** Items that failed or were left out for one reason. */
export type Cause = Answer<'GET /v3/connections/{connectionId}/failures'>['causes'][number];

export type Activity = Answer<'GET /v3/activity'>;
export type Changes = Pick<Activity['sources'][number], 'added' | 'updated' | 'deleted' | 'failed'>;

export type DocumentAnswer = Answer<'GET /v3/documents/{id}'>;
export type DocumentRow = Answer<'POST /v3/documents/list'>['memories'][number];
export type DocumentStatus = DocumentAnswer['status'];
export type DocumentQuery = Body<'POST /v3/documents/list'>;

export type SearchBody = Body<'POST /v4/search'> & { limit: number };
export type SearchAnswer = Answer<'POST /v4/search'>;
export type SearchHit = SearchAnswer['results'][number];
/** What words and vectors say of a text, apart. */
export type Scores = NonNullable<SearchHit['scores']>;
/** Where a document stands for a search. */
export type Explanation = NonNullable<SearchAnswer['explanation']>;

export type Memory = Answer<'POST /v4/memories/list'>['memoryEntries'][number];
export type ForgetAnswer = Answer<'POST /v4/memories/forget-matching'>;
export type Namespace = Answer<'GET /v3/container-tags/list'>[number];
export type Key = Answer<'GET /v3/auth/keys'>['keys'][number];
export type Status = Answer<'GET /v3/status'>;
export type Settings = Answer<'GET /v3/configuration'>;
export type Warnings = Answer<'GET /v3/system/warnings'>;
export type Backup = Answer<'GET /v3/system/backups'>['backups'][number];
export type RunningProcess = Answer<'GET /v3/system/processes'>['processes'][number];
