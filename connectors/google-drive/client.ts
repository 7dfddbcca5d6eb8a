import type { drive_v3 } from '@googleapis/drive';
import { ConnectorError, forbidden, gone, transient } from 'memoryd/connector';
import { reasonOf, remedyOf } from '../google/refusals.ts';
import type { DriveContext } from './config.ts';

type Drive = drive_v3.Drive;

/** The vendor's client over `ctx.http.fetch`, which waits, renews, counts and redacts. Its own retries are off. */
function openDrive(ctx: DriveContext): Promise<Drive> {
  return ctx.session('google-drive', async () => {
    // Loaded when it is needed: it takes a third of a second.
    const { drive } = await import('@googleapis/drive');
    return drive({ version: 'v3', fetchImplementation: ctx.http.fetch, retry: false });
  });
}

/** A status that is no success, with the reason that Drive names for it; '' when it names none. */
export interface Refusal {
  status: number;
  reason: string;
}

export type Answered<Data> = { data: Data; contentType: string } | { refusal: Refusal };

/** The answer to one call, refusals included. Throws errors of the contract for everything else. */
export async function tryAsk<Data>(
  ctx: DriveContext,
  call: (drive: Drive) => Promise<{ data: Data; headers: unknown }>,
): Promise<Answered<Data>> {
  const drive = await openDrive(ctx);
  try {
    const { data, headers } = await call(drive);
    return { data, contentType: contentTypeOf(headers) };
  } catch (error) {
    ctx.signal.throwIfAborted();
    return { refusal: refusalIn(error) };
  }
}

/** The vendor's client shows them as an object, and its types say either. */
function contentTypeOf(headers: unknown): string {
  const shown = headers instanceof Headers ? Object.fromEntries(headers) : (headers as Record<string, unknown>);
  const type = shown['content-type'];
  return typeof type === 'string' ? type : '';
}

/** The error of the vendor's client for an answer (`GaxiosError`). */
interface AnswerError {
  status?: number;
  response?: { data?: unknown };
}

function refusalIn(error: unknown): Refusal {
  const known = ConnectorError.find(error);
  if (known) throw known;
  const { status, response } = error as AnswerError;
  if (status === undefined) throw transient('Google Drive could not be asked.', error);
  if (status >= 500) throw transient(`Google Drive answered ${status}`);
  return { status, reason: reasonOf({ json: () => bodyOf(response?.data) }) ?? '' };
}

/** Errors of downloads come as bytes. */
function bodyOf(data: unknown): unknown {
  if (!(data instanceof ArrayBuffer) && typeof data !== 'string') return data;
  try {
    return JSON.parse(typeof data === 'string' ? data : Buffer.from(data).toString('utf8'));
  } catch {
    return null;
  }
}

/** The same where a refusal ends the call: `gone` for 404, `forbidden` with a remedy, else `transient`. */
export async function ask<Data>(
  ctx: DriveContext,
  call: (drive: Drive) => Promise<{ data: Data; headers: unknown }>,
): Promise<Data> {
  const answer = await tryAsk(ctx, call);
  if ('refusal' in answer) throw errorOf(answer.refusal);
  return answer.data;
}

export function errorOf({ status, reason }: Refusal): ConnectorError {
  const message = `Google Drive answered ${status}${reason === '' ? '' : ` (${reason})`}`;
  if (status === 404 || status === 410) return gone(message);
  if (status !== 403) return transient(message);
  const remedy = remedyOf(reason)?.text;
  return remedy === undefined ? forbidden(message) : new ConnectorError('forbidden', message, { remedy });
}
