/** A source in a thread of its own: answers every request with the same JSON, and tells its port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';

const body = JSON.stringify({ id: 'note', text: 'x'.repeat(2_000) });
const headers = { 'content-type': 'application/json', 'content-length': body.length };

const server = createServer((_, response) => response.writeHead(200, headers).end(body));
server.listen(0, '127.0.0.1', () => parentPort!.postMessage((server.address() as AddressInfo).port));
