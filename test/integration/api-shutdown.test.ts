import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { fullKey, startTestApi } from '../support/api.ts';

const head = `host: x\r\nauthorization: Bearer ${fullKey}\r\n`;

it('closing finishes what is under way, refuses what is new with 503, and then ends', async () => {
  const release = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const test = await startTestApi({
    services: ({ search }) => ({
      search: {
        async search(wanted) {
          entered.resolve();
          await release.promise;
          return search.search(wanted);
        },
      },
    }),
  });
  const { port } = new URL(await test.api.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  let received = '';
  socket.on('data', (data) => (received += data.toString()));
  const ended = new Promise((resolve) => socket.on('close', resolve));
  const body = '{"q":"hello"}';
  socket.write(
    `POST /v4/search HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await entered.promise;

  const closed = test.close();
  await expect.poll(() => test.api.server.listening).toBe(false);
  socket.write(`GET /v3/session HTTP/1.1\r\n${head}\r\n`);
  release.resolve();
  await ended;
  await closed;

  const [first, second] = received.split(/(?<=\})(?=HTTP)/);
  expect(first).toMatch(/^HTTP\/1\.1 200 /);
  expect(second).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 5\r\n/i);
  expect(second).toContain('{"error":"The service is shutting down"}');
});
