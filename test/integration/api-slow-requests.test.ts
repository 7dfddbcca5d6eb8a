import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sendEvents } from '../../src/api/routes/syncs.ts';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';

const mebibyte = 1024 * 1024;

let test: TestApi;
let port: number;
/** The server's side of each connection. */
const taken: Socket[] = [];
beforeAll(async () => {
  test = await startTestApi({ config: { requestTimeoutMs: 200, stalledTimeoutMs: 500 } });
  await test.api.listen({ host: '127.0.0.1', port: 0 });
  test.api.server.on('connection', (socket: Socket) => taken.push(socket));
  port = (test.api.server.address() as AddressInfo).port;
});
afterAll(() => test.close());

function open(): { socket: Socket; received: () => string; closed: Promise<unknown> } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (part) => (text += part.toString()));
  socket.on('error', () => {});
  return { socket, received: () => text, closed: new Promise((resolve) => socket.on('close', resolve)) };
}

const head = (length: number, path = '/v3/documents') =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${fullKey}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

it.each([
  ['a body that stops', `${head(1_000)}{"content": "`],
  ['headers that stop', 'POST /v3/documents HTTP/1.1\r\nhost: x\r\nx-slow: '],
])('%s is answered 408 and its connection ends', async (_, part) => {
  const { socket, received, closed } = open();
  socket.write(part);
  await closed;
  const [status] = received().split('\r\n');
  expect(status).toBe('HTTP/1.1 408 Request Timeout');
  expect(received()).toMatch(/\r\nx-request-id: [1-9A-HJ-NP-Za-km-z]{22}\r\n/);
  expect(received().split('\r\n\r\n')[1]).toBe('{"error":"The request did not arrive in time"}');
});

it('a body that comes drop by drop is given up all the same', async () => {
  const { socket, received, closed } = open();
  socket.write(head(1_000_000));
  const drops = setInterval(() => socket.write(' '), 20);
  await closed;
  clearInterval(drops);
  expect(received()).toContain('HTTP/1.1 408');
});

it.each([
  ['what is no HTTP', 'HELLO\r\n\r\n', 400, 'The request is not valid HTTP'],
  [
    'headers that are too large',
    `GET / HTTP/1.1\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`,
    431,
    'The headers are too large',
  ],
])('%s is refused in the form of every error', async (_, part, status, error) => {
  const { socket, received, closed } = open();
  socket.write(part);
  await closed;
  expect(received()).toContain(`HTTP/1.1 ${status} `);
  expect(JSON.parse(received().split('\r\n\r\n')[1]!)).toEqual({ error });
});

it.each(['/v3/documents', '/v3/documents/file'])('%s answers 413 to a huge body and does not read it', async (path) => {
  const { socket, received, closed } = open();
  taken.length = 0;
  const huge = 500 * mebibyte;
  const type = path.endsWith('file') ? 'multipart/form-data; boundary=edge' : 'application/json';
  socket.write(head(huge, path).replace('application/json', type));
  await expect.poll(received).toContain('HTTP/1.1 413 ');
  const part = Buffer.alloc(mebibyte, 0x20);
  while (!socket.destroyed && socket.bytesWritten < huge) {
    if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
  }
  await closed;
  expect(taken).toHaveLength(1);
  expect(taken[0]!.bytesRead).toBeLessThan(20 * mebibyte);
});

it('a client that never reads what it asks for loses its connection', async () => {
  const { socket } = open();
  socket.pause();
  taken.length = 0;
  socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(200));
  await expect.poll(() => taken.map((one) => one.destroyed), { timeout: 10_000 }).toEqual([true]);
  // No more than what the system and one answer hold.
  expect(taken[0]!.bytesWritten).toBeLessThan(20 * mebibyte);
  socket.destroy();
});

it('events are made only as fast as they are read', async () => {
  let made = 0;
  async function* events() {
    for (;;) {
      made += 1;
      yield 'x'.repeat(10_000);
    }
  }
  const app = fastify();
  app.get('/', (_request, reply) => sendEvents(reply, events()));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  let before = -1;
  await expect.poll(() => (made > 0 && made === before) || ((before = made), false), { interval: 200 }).toBe(true);
  expect(made * 10_000).toBeLessThan(20 * mebibyte);
  socket.destroy();
  await app.close();
});

it('reading and deleting that wait for the database are answered 503, and what makes something goes on', async () => {
  const held = Promise.withResolvers<void>();
  const slow = await startTestApi({ engine: 'pglite', config: { answerTimeoutMs: 100 } });
  await slow.call('GET', '/v3/container-tags/list');
  const begun = Promise.withResolvers<void>();
  const holding = slow.database.transaction(() => {
    begun.resolve();
    return held.promise;
  });
  await begun.promise;
  const made = slow.call('POST', '/v3/documents', { content: 'a', containerTag: 'made' });
  for (const [method, path] of [
    ['DELETE', '/v3/container-tags/a'],
    ['GET', '/v3/container-tags/list'],
  ] as const) {
    const { status, body, headers } = await slow.call(method, path);
    expect([status, body.error]).toEqual([503, 'This takes too long at the moment; try again later']);
    expect(headers['retry-after']).toBe('5');
  }
  held.resolve();
  await holding;
  expect((await made).status).toBeLessThan(300);
  await slow.close();
});
