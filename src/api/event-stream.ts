import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** One server-sent event (HTML Living Standard, section 9.2). */
export interface ServerEvent {
  event: string;
  /** Sent back by a client as `Last-Event-ID` when it reconnects. */
  id: string;
  /** Sent as JSON, which has no line breaks. */
  data: unknown;
}

export function eventText({ event, id, data }: ServerEvent): string {
  return `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Keeps connections open that would be closed when nothing is sent. */
export const heartbeatText = ': heartbeat\n\n';

/** How long a client waits before it comes back after a break. */
export function retryText(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/** Sends the texts as they come. `no-transform` and `x-accel-buffering` keep proxies from gathering them. */
export function sendEvents(reply: FastifyReply, texts: AsyncIterable<string>): FastifyReply {
  return reply
    .type('text/event-stream; charset=utf-8')
    .header('cache-control', 'no-cache, no-transform')
    .header('x-accel-buffering', 'no')
    .send(Readable.from(texts, { objectMode: false }));
}
