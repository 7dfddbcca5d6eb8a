import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';

/** Requests that never come as far as a route, by the codes of Node.js; everything else is broken HTTP. */
const refusals: Record<string, { status: number; error: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'The request did not arrive in time' },
  HPE_HEADER_OVERFLOW: { status: 431, error: 'The headers are too large' },
};
const broken = { status: 400, error: 'The request is not valid HTTP' };

/** Answers in the form of section 3 what Node.js refuses by itself, and ends the connection. */
export function refuseBrokenRequests(clock: Clock) {
  return function refuse({ code }: { code?: string }, socket: Socket): void {
    // ECONNRESET: nobody is there any more.
    if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
    const { status, error } = refusals[code ?? ''] ?? broken;
    const body = JSON.stringify({ error });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${newId(clock.now())}`,
      'connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
  };
}
