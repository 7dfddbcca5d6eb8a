import { createRandom } from '../../src/connector-kit/setup.ts';
import { inParallel, type Sent } from './sender.ts';
import { nastyValues } from './nasty-values.ts';
import { canary, type Target } from './target.ts';

/** What the description of the API does not make: hooks, the model context protocol, headers and broken framing. */
export async function attackSpecially(
  { sender, keys, known }: Target,
  { requests, seed }: { requests: number; seed: number },
  report: (fault: string) => void,
) {
  const random = createRandom(seed);
  const makers = [
    () => hook(random.below(2 ** 30)),
    () => message(random.below(2 ** 30)),
    () => headers(random.below(2 ** 30)),
  ];
  const connection = known['connectionId']![0]!;
  function hook(draw: number): Sent {
    const { pick, below } = createRandom(draw);
    const path = pick(['/v3/hooks/github', '/v3/hooks/push', `/v3/hooks/push/${connection}`, '/v3/hooks/none/none']);
    const body = Buffer.alloc(below(3) === 0 ? below(2_000_000) : below(2_000), pick(['{', '\0', 'a=1&', '[']));
    const type = pick([
      'application/json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'a',
      'multipart/form-data',
    ]);
    const signature = pick(['sha256=00', 'sha256=', '', 'x'.repeat(3_000)]);
    return {
      method: pick(['POST', 'GET']),
      path,
      body,
      headers: { 'content-type': type, 'x-hub-signature-256': signature },
    };
  }
  function message(draw: number): Sent {
    const { pick, chance } = createRandom(draw);
    const text = () => pick(nastyValues);
    const method = pick([
      'initialize',
      'tools/list',
      'tools/call',
      'resources/read',
      'prompts/get',
      'ping',
      text().slice(0, 500),
    ]);
    const tool = pick([
      'search_memory',
      'add_memory',
      'get_document',
      'list_documents',
      'forget_memory',
      'who_am_i',
      text(),
    ]);
    const given = {
      query: text(),
      containerTag: pick(['known', text()]),
      id: text(),
      content: text(),
      limit: pick([0, -1, 1e9, 'x']),
    };
    const params =
      method === 'tools/call' ? { name: tool, arguments: chance(0.9) ? given : text() } : { uri: text(), name: text() };
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: pick([1, 'a', null, {}]),
      method,
      params: chance(0.9) ? params : [text()],
    });
    return {
      method: 'POST',
      path: '/mcp',
      key: pick([keys.full, keys['writes elsewhere'], keys['reads known']]),
      body,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    };
  }
  function headers(draw: number): Sent {
    const { pick, below } = createRandom(draw);
    const name = pick([
      'x-request-id',
      'idempotency-key',
      'last-event-id',
      'accept',
      'content-encoding',
      'if-none-match',
      'x-a',
      'origin',
      'host',
    ]);
    const value = pick(nastyValues)
      .replaceAll(/[^\x20-\x7e]/g, '?')
      .slice(0, below(20_000));
    const { method, path } = pick([
      { method: 'GET', path: '/v3/auth/keys' },
      { method: 'POST', path: '/v4/search' },
      { method: 'GET', path: `/v3/connections/${connection}/runs/none/events` },
      { method: 'TRACE', path: '/' },
      { method: 'OPTIONS', path: '*' },
      { method: 'PUT', path: '/v3/documents' },
    ]);
    return {
      method,
      path,
      key: keys.full,
      headers: { [name]: value, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: '{"q":"a"}' }),
    };
  }
  function* drawn() {
    for (let count = 0; count < requests; count++) yield makers[count % makers.length]!();
  }
  await inParallel(drawn(), 16, async (sent) => {
    const { status, text } = await sender.send(sent);
    const isFault = status === 0 || (status >= 500 && status !== 501 && status !== 503);
    if (isFault) {
      const { method, path, headers, body } = sent;
      report(`${method} ${path} ${status} ${text.slice(0, 100)}: ${JSON.stringify({ headers, body })?.slice(0, 200)}`);
    }
    if (sent.key === keys['writes elsewhere'] && text.includes(canary))
      report(`${sent.path} shows what it may not see`);
  });
}
