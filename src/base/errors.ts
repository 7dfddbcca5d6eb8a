/**
 * The one table of error codes: what the HTTP status is, what it means, and how to mend it.
 * Every error memoryd throws on purpose is a `MemorydError` with one of these codes.
 */
export const errorTable = {
  // Requests
  invalid_request: {
    status: 400,
    meaning: 'The request is well formed but not acceptable.',
    remedy: 'Change the request as the message says.',
  },
  validation_failed: {
    status: 400,
    meaning: 'The request does not match its schema.',
    remedy: 'Correct the fields that the issues name.',
  },
  unauthorized: {
    status: 401,
    meaning: 'No valid API key was sent.',
    remedy: 'Send `Authorization: Bearer <API key>`; `memoryd keys list` shows which keys exist.',
  },
  forbidden: {
    status: 403,
    meaning: 'The API key may not do this.',
    remedy: 'Use a key with access to this container tag, or a full key.',
  },
  not_found: { status: 404, meaning: 'The object or route does not exist.', remedy: 'Check the id and the path.' },
  conflict: {
    status: 409,
    meaning: 'The object is in a state that does not allow this.',
    remedy: 'Wait or change the state first, as the message says.',
  },
  payload_too_large: {
    status: 413,
    meaning: 'The body is over the limit.',
    remedy: 'Send less, or raise the limit in the configuration.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The content type is not accepted here.',
    remedy: 'Send `content-type: application/json`.',
  },
  quota_exceeded: {
    status: 403,
    meaning: 'The container or the key may hold no more.',
    remedy: 'Delete something, or raise the quota: `memoryd quota`, `memoryd keys change`.',
  },
  rate_limited: { status: 429, meaning: 'Too many requests.', remedy: 'Wait as long as `Retry-After` says.' },
  internal: { status: 500, meaning: 'Unexpected failure.', remedy: 'Look in the log for the request id.' },
  unsupported_operation: {
    status: 501,
    meaning: 'The connector does not offer this operation.',
    remedy: 'See the connector’s page for what it can do.',
  },
  unavailable: {
    status: 503,
    meaning: 'The daemon is shutting down or a dependency is down.',
    remedy: 'Try again shortly; `GET /ready` says what is missing.',
  },
  // Processing of documents (7.3: shown as `error.code` of a failed document)
  fetch_failed: {
    status: 502,
    meaning: 'The content could not be fetched.',
    remedy: 'Check the address; it is tried again by itself.',
  },
  fetch_blocked: {
    status: 400,
    meaning: 'The address may not be fetched.',
    remedy: 'Only public http and https addresses are fetched.',
  },
  unsupported_type: {
    status: 415,
    meaning: 'No text can be taken from this type of content.',
    remedy: 'Convert it to one of the supported types.',
  },
  extract_failed: {
    status: 422,
    meaning: 'The content is damaged, encrypted or not what its type says.',
    remedy: 'Repair the file at the source.',
  },
  too_large: {
    status: 413,
    meaning: 'The content is over the size limit.',
    remedy: 'Split it, or raise the limit in the configuration.',
  },
  ocr_failed: {
    status: 502,
    meaning: 'The text in an image or a scan could not be read.',
    remedy: 'Look at the server of the setting ocr.url; what it did not refuse is tried again by itself.',
  },
  embed_failed: {
    status: 502,
    meaning: 'The embedding model failed.',
    remedy: '`memoryd models verify` tests the model.',
  },
  index_failed: {
    status: 500,
    meaning: 'The chunks could not be written.',
    remedy: 'It is tried again by itself; see the log.',
  },
  memory_failed: {
    status: 500,
    meaning: 'Memories could not be extracted.',
    remedy: 'It is tried again by itself; see the log.',
  },
  lease_lost: {
    status: 409,
    meaning: 'Another worker has taken the work over; this one has changed nothing since.',
    remedy: 'Nothing needs to be done: the other one goes on.',
  },
  lost_worker: {
    status: 500,
    meaning: 'The worker died while it processed this.',
    remedy: 'It is tried again by itself.',
  },
  // Start-up and the machine
  config_invalid: {
    status: 500,
    meaning: 'The configuration is not valid.',
    remedy: 'Correct the field that the message names; `memoryd config` shows the effective values.',
  },
  encryption_key_mismatch: {
    status: 500,
    meaning: 'Stored secrets were sealed with another encryption key.',
    remedy:
      'Give memoryd the key that they were sealed with: MEMORYD_ENCRYPTION_KEY, or encryption.key of the data directory.',
  },
  data_dir_locked: {
    status: 500,
    meaning: 'Another memoryd uses this data directory.',
    remedy: 'Stop the other daemon, or choose another directory with --data-dir.',
  },
  data_dir_damaged: {
    status: 500,
    meaning: 'The data directory cannot be opened.',
    remedy: 'Keep a copy of the folder before you change anything in it.',
  },
  port_in_use: {
    status: 500,
    meaning: 'The port is taken by another program.',
    remedy: 'Choose another with --port, or stop that program.',
  },
  disk_full: {
    status: 507,
    meaning: 'No space is left on the disk.',
    remedy: 'Free some space; work goes on by itself.',
  },
  database_unreachable: {
    status: 503,
    meaning: 'PostgreSQL does not answer.',
    remedy: 'Check MEMORYD_DATABASE_URL and that the server runs.',
  },
  database_unsupported: {
    status: 500,
    meaning: 'The database lacks something memoryd needs.',
    remedy: 'Use PostgreSQL 15 or newer with pgvector 0.8 or newer.',
  },
  database_newer: {
    status: 500,
    meaning: 'The database was migrated by a newer memoryd.',
    remedy: 'Run that newer version.',
  },
  queue_unreachable: {
    status: 503,
    meaning: 'Redis does not answer.',
    remedy: 'Check MEMORYD_REDIS_URL and that the server runs.',
  },
  model_unavailable: {
    status: 500,
    meaning: 'The embedding model cannot be loaded.',
    remedy: 'Run `memoryd models verify`.',
  },
  hub_failed: {
    status: 502,
    meaning: 'The hub did not give the model.',
    remedy:
      'Check the name of the model and the setting embedder.hub. What has arrived is kept: the next `memoryd models pull` goes on from there.',
  },
  language_model_failed: {
    status: 502,
    meaning: 'The language model failed.',
    remedy: 'Check MEMORYD_LLM_URL, MEMORYD_LLM_MODEL and MEMORYD_LLM_API_KEY; `memoryd doctor` asks the model.',
  },
  connector_invalid: {
    status: 400,
    meaning: 'The connector cannot be loaded or its configuration is wrong.',
    remedy: 'Correct what the message names.',
  },
} as const satisfies Record<string, { status: number; meaning: string; remedy: string }>;

export type ErrorCode = keyof typeof errorTable;

/** One thing that is wrong with an input, and where in it. */
export interface ValidationIssue {
  message: string;
  path?: (string | number)[];
}

export interface ErrorOptions {
  /** More detail that is safe to show: never content, secrets or stack traces. */
  details?: string | undefined;
  issues?: ValidationIssue[] | undefined;
  /** When a new attempt makes sense, in milliseconds from now. */
  retryAfterMs?: number | undefined;
  /** False tells clients not to try again although the status would allow it (`x-should-retry: false`). */
  shouldRetry?: boolean | undefined;
  cause?: unknown | undefined;
}

const marker = Symbol.for('memoryd.error');

/** The base of all errors memoryd throws on purpose. `code` decides the HTTP status and the remedy. */
export class MemorydError extends Error {
  readonly code: ErrorCode;
  readonly details: string | undefined;
  readonly issues: ValidationIssue[] | undefined;
  readonly retryAfterMs: number | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly [marker] = true;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MemorydError';
    this.code = code;
    this.details = options.details;
    this.issues = options.issues;
    this.retryAfterMs = options.retryAfterMs;
    this.shouldRetry = options.shouldRetry;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  get remedy(): string {
    return errorTable[this.code].remedy;
  }

  /** Works across two installed copies of this package, where `instanceof` does not. */
  static is(error: unknown): error is MemorydError {
    return typeof error === 'object' && error !== null && marker in error;
  }
}
