import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { played, playedNames } from './internet.ts';
import type { Target } from './target.ts';

/** Stands at the address that nobody may be led to. */
const secret = 'secret-of-the-own-network';

/** Ways to this machine, for a server that answers with a redirect. */
function hiddenPlaces(port: number): string[] {
  const hosts = [
    ...['127.0.0.1', 'localhost', '[::1]', '0x7f000001', '2130706433', '127.1', '0.0.0.0', '[::ffff:127.0.0.1]'],
    ...['[64:ff9b::7f00:1]', '169.254.169.254', '10.0.0.1', 'a:b@127.0.0.1', ...Object.keys(playedNames)],
  ];
  return [
    ...hosts.map((host) => `http://${host}:${port}/hidden`),
    ...['file:///etc/passwd', `gopher://127.0.0.1:${port}/`, `//127.0.0.1:${port}/hidden`, 'http://', 'http://[', ''],
  ];
}

/**
 * Documents and a source whose servers lead to this machine: by redirects in every notation, and by names whose
 * addresses change between two look-ups. The server of the own network must never be asked.
 */
export async function attackOutbound({ sender, keys }: Target, report: (fault: string) => void): Promise<void> {
  let stolen = 0;
  let asked = 0;
  const own = createServer((_request, response) => {
    stolen += 1;
    response.end(secret);
  });
  const port = await listen(own, '127.0.0.1', 0);
  const places = hiddenPlaces(port);
  const outside = createServer((request, response) => {
    asked += 1;
    const place = Number(request.url?.split('/').at(-1));
    const location = Number.isInteger(place) ? places[place]! : `http://127.0.0.1:${port}/hidden`;
    response.writeHead([301, 302, 303, 307, 308][asked % 5]!, { location, connection: 'close' }).end();
  });
  await listen(outside, played.loopbackAddress, port);

  const call = async (method: string, path: string, body?: object) =>
    JSON.parse((await sender.send({ method, path, key: keys.full, ...(body && { body: JSON.stringify(body) }) })).text);
  try {
    const addresses = [
      ...places.map((_, index) => `http://public.attack.test:${port}/${index}`),
      ...Object.keys(playedNames).flatMap((name) => [1, 2].map((time) => `http://${name}:${port}/own-${time}`)),
    ];
    const ids: string[] = [];
    for (const content of addresses)
      ids.push((await call('POST', '/v3/documents', { content, containerTag: 'out' })).id);
    const refusal = await addSource(call, `http://public.attack.test:${port}`);
    if (!refusal.includes('not a public address')) report(`a source that leads to this machine: ${refusal}`);
    for (const id of ids) await untilEnded(() => call('GET', `/v3/documents/${id}`), report);
    if (asked < places.length) report(`of ${places.length} redirects only ${asked} were asked for`);
    if (stolen > 0) report(`the own network was asked ${stolen} times`);
  } finally {
    for (const server of [own, outside]) server.close().closeAllConnections();
  }
}

/** A source of its own, whose API leads to this machine as soon as it is asked. Answers why it was refused. */
async function addSource(call: (method: string, path: string, body: object) => Promise<any>, baseUrl: string) {
  const metadata = { repositories: ['a/b'], baseUrl, token: 'a'.repeat(40) };
  const { error } = await call('POST', '/v3/connections/github', { containerTags: ['out'], metadata });
  return String(error);
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** None of them may be stored: all that stands there is a redirect. */
async function untilEnded(read: () => Promise<{ status: string; url?: string }>, report: (fault: string) => void) {
  for (let round = 0; round < 1_200; round++) {
    const { status, url } = await read();
    if (status === 'done') report(`${url} was stored`);
    if (status === 'done' || status === 'failed') return;
    await sleep(50);
  }
  report('an address was not given up within a minute');
}
