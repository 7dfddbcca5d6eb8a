import { createHash } from 'node:crypto';
import type { HookResult, RawHook } from '../../connector/contract.ts';

/** Headers that name the delivery or the state of things, and not the way of the request through proxies. */
const telling = /^x-(?!forwarded|real-ip|request-id|cloud-trace|amzn|envoy|vercel|b3|cdn)/;

/** What the source calls this request, else what makes it the same request when it comes again. */
export function deliveryIdOf(raw: RawHook, result: Extract<HookResult, { hints: unknown }>): string {
  if (result.deliveryId !== undefined && result.deliveryId !== '') return `id:${digest([result.deliveryId])}`;
  const headers = Object.entries(raw.headers)
    .filter(([name]) => telling.test(name))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `hash:${digest([raw.method, raw.path, JSON.stringify(raw.query), JSON.stringify(headers), raw.body])}`;
}

function digest(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('base64url');
}
