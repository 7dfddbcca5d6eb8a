import { fieldName } from '../validation-issues.ts';
import { createCheck } from '../validation.ts';
import { pushItem, type PushBody, type PushItemBody } from '../schemas/push.ts';
import {
  maxDeletes,
  maxPushIdBytes,
  maxUpserts,
  type PushDelete,
  type PushEntry,
  type PushRequest,
  type PushUpsert,
} from '../../inbound/push/push-service.ts';
import { MemorydError } from '../../base/errors.ts';
import { firstOf } from '../../base/collections.ts';
import { requireWrite } from '../../account/access.ts';
import { findConnection } from '../connection-lookup.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { connectionParams } from '../schemas/connections.ts';
import * as schemas from '../schemas/push.ts';

const tags = ['Push'];

/** A connection of the provider `push` takes its items from its callers instead of a source. */
export function pushRoutes(app: Api, { services, config }: RouteContext): void {
  app.post(
    '/v3/connections/:connectionId/push',
    {
      config: { sensitive: true },
      bodyLimit: config.limits.maxBatchBodyBytes,
      schema: {
        operationId: 'pushItems',
        summary: 'Push items into a connection',
        description:
          'Items go through the same ledger as those of any source: an unchanged rev costs nothing, an equal content is not processed again, and what is gone is removed, unless that is too much at once. A bad entry fails alone; the answer is 200 even when every entry failed.',
        tags,
        params: connectionParams,
        body: schemas.pushBody,
        response: { 200: schemas.pushAnswer },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const connection = await findConnection(services.connections, request.params.connectionId, caller);
      requireWrite(caller, connection.containerTag);
      return services.push.push(connection.id, readPush(request.body, config.limits.maxTextBytes));
    },
  );

  app.get(
    '/v3/connections/:connectionId/push',
    {
      schema: {
        operationId: 'getPushState',
        summary: 'Get how far the last snapshot is',
        description: 'Tells a script that was interrupted with which page to go on.',
        tags,
        params: connectionParams,
        response: { 200: schemas.pushStateAnswer },
      },
    },
    async (request) => {
      const connection = await findConnection(services.connections, request.params.connectionId, callerOf(request));
      const { snapshot } = await services.push.state(connection.id);
      if (!snapshot) return { snapshot: null };
      const { startedAt, updatedAt, ...rest } = snapshot;
      return { snapshot: { ...rest, startedAt: startedAt.toISOString(), updatedAt: updatedAt.toISOString() } };
    },
  );
}

const checkItem = createCheck(pushItem);
const maxMetadataBytes = 32 * 1024;
const contentKinds = ['text', 'markdown', 'html'] as const;

/** Reads every entry; a bad one fails alone. Throws `payload_too_large` for too many. */
function readPush(body: PushBody, maxTextBytes: number): PushRequest {
  const { upserts = [], deletes = [], unread = [], deliveryId, snapshot, completeSnapshot = false } = body;
  if (unread.length > 0 && snapshot === undefined && !completeSnapshot) {
    throw new MemorydError('invalid_request', 'unread is about a snapshot: give snapshot or completeSnapshot with it');
  }
  requireFew('upserts', upserts.length, maxUpserts);
  requireFew('deletes', deletes.length, maxDeletes);
  return {
    upserts: upserts.map((entry) => readUpsert(entry, maxTextBytes)),
    deletes: deletes.map(readDelete),
    completeSnapshot,
    ...(unread.length > 0 && { unread }),
    ...(deliveryId !== undefined && { deliveryId }),
    ...(snapshot !== undefined && { snapshot }),
  };
}

function requireFew(name: string, count: number, most: number): void {
  if (count <= most) return;
  throw new MemorydError('payload_too_large', `${name} has ${count} entries, more than ${most}`, {
    details: 'Send them in several requests, or as the pages of a snapshot',
  });
}

function readUpsert(entry: unknown, maxTextBytes: number): PushEntry {
  const id = usableId((entry as Partial<PushItemBody> | null)?.id);
  const [issue] = checkItem(entry);
  if (issue) return { refused: { id, error: `${fieldName(issue.path ?? [])}: ${issue.message}`.replace(/^: /, '') } };
  const item = entry as PushItemBody;
  const problem = id === null ? longId : problemOf(item, maxTextBytes);
  return problem === null ? { upsert: upsertOf(item) } : { refused: { id, error: problem } };
}

const longId = `id must be 1 to ${maxPushIdBytes} bytes without control characters`;

/** The id when it can be one, also of an entry that is refused for another reason. */
function usableId(id: unknown): string | null {
  const isUsable =
    typeof id === 'string' && /^[^\u0000-\u001f\u007f]+$/.test(id) && Buffer.byteLength(id) <= maxPushIdBytes;
  return isUsable ? id : null;
}

function contentsOf(item: PushItemBody): PushUpsert['content'][] {
  return contentKinds.flatMap((kind) => {
    const text = item[kind];
    return text === undefined ? [] : [{ kind, text }];
  });
}

function problemOf(item: PushItemBody, maxTextBytes: number): string | null {
  const [given, ...more] = contentsOf(item);
  if (given === undefined || more.length > 0) return `exactly one of ${contentKinds.join(', ')} must be given`;
  if (Buffer.byteLength(given.text) > maxTextBytes) return `${given.kind} is larger than ${maxTextBytes} bytes`;
  if (Buffer.byteLength(JSON.stringify(item.metadata ?? {})) > maxMetadataBytes) {
    return `metadata is larger than ${maxMetadataBytes} bytes`;
  }
  return item.updatedAt === undefined || timeOf(item.updatedAt) !== null
    ? null
    : 'updatedAt must be a date that exists';
}

/** Times without a zone are UTC, so that the result does not depend on where the daemon runs. */
function timeOf(text: string): Date | null {
  const hasZone = text.length === 10 || /(?:z|[+-]\d{2}:?\d{2})$/i.test(text);
  const date = new Date(hasZone ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

function upsertOf(item: PushItemBody): PushUpsert {
  const { id, rev, title, url, path, metadata, updatedAt } = item;
  return {
    id,
    content: firstOf(contentsOf(item)),
    ...(rev !== undefined && { rev }),
    ...(title !== undefined && title !== '' && { title }),
    ...(url !== undefined && { url }),
    ...(path !== undefined && { path }),
    ...(metadata !== undefined && { metadata }),
    ...(updatedAt !== undefined && { updatedAt: timeOf(updatedAt)!.toISOString() }),
  };
}

function readDelete(entry: unknown): PushDelete {
  const id = usableId(entry);
  return id === null ? { refused: { id: null, error: longId } } : { id };
}
