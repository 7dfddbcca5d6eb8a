import { refusalOf, TokenRefusal } from './token-set.ts';

const timeoutMs = 20_000;
const maxBytes = 1024 * 1024;

/** One POST to a token endpoint; answers its JSON. Throws `TokenRefusal`. */
export async function requestToken(
  url: string,
  request: { headers?: Record<string, string>; body: URLSearchParams | null },
): Promise<Record<string, unknown>> {
  const { host } = new URL(url);
  const { response, body } = await send(url, host, request);
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
  const refusal = refusalOf({ status: response.status, body, retryAfterMs }, host);
  if (refusal) throw refusal;
  if (typeof body !== 'object' || body === null) throw new TokenRefusal('unavailable', `${host} answered no JSON.`);
  return body as Record<string, unknown>;
}

async function send(
  url: string,
  host: string,
  { headers, body }: { headers?: Record<string, string>; body: URLSearchParams | null },
): Promise<{ response: Response; body: unknown }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json', 'user-agent': 'memoryd', ...headers },
      body,
      // A token that is sent elsewhere is lost.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { response, body: parsed(await readCapped(response)) };
  } catch {
    throw new TokenRefusal('unclear', `${host} did not answer.`);
  }
}

async function readCapped(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxBytes) throw new Error('too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
