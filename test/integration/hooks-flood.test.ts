import { connect as connectSocket, type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { signed, withHooks } from '../support/hooked-connector.ts';
import { createSyntheticSource } from '../support/synthetic-source.ts';

const mebibyte = 1024 * 1024;
const secret = 'the secret of all';
let test: TestApi;
let port: number;
const sockets: Socket[] = [];

beforeAll(async () => {
  const connector = withHooks(createSyntheticSource().connector({ lookup: true })).connector;
  const large = { ...connector, hooks: { ...connector.hooks!, maxBodyBytes: 4 * mebibyte } };
  test = await startTestApi({ connectors: { synthetic: large }, sharedSecrets: { synthetic: secret } });
  await test.api.listen({ host: '127.0.0.1', port: 0 });
  port = (test.api.server.address() as AddressInfo).port;
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => test.close());

function send(path: string, length: number, body: Buffer | string = '') {
  const socket = connectSocket(port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (part) => (text += part.toString()));
  socket.on('error', () => {});
  socket.write(
    `POST /v3/hooks/${path} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: ${length}\r\n\r\n`,
  );
  socket.write(body);
  return { status: () => Number(text.split(' ')[1]) };
}

it('hooks for addresses that are not there, or too large ones, are refused before they are sent', async () => {
  const unknown = send('synthetic/nothing', mebibyte);
  const tooLarge = send('synthetic', 4 * mebibyte + 1);
  await expect.poll(unknown.status, { timeout: 20_000 }).toBe(404);
  await expect.poll(tooLarge.status, { timeout: 20_000 }).toBe(413);
});

it('hooks that are sent slowly by many hold little, and keep out none that is as hooks are', async () => {
  const unfinished = Array.from({ length: 40 }, () => send('synthetic', 4 * mebibyte, Buffer.alloc(4 * mebibyte - 1)));
  const refused = () => unfinished.filter(({ status }) => status() === 503).length;
  // 32 MiB hold eight of them that are all but complete.
  await expect.poll(refused, { timeout: 40_000 }).toBe(32);
  const body = JSON.stringify({ hints: [] });
  const answer = await test.api.inject({ method: 'POST', url: '/v3/hooks/synthetic', ...signed(body, secret) });
  expect(answer.statusCode).toBe(202);
}, 60_000);
