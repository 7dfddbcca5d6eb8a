/**
 * Loaded before a program (`--import`) that is attacked: it reaches nothing but this machine, whatever it is made to
 * ask for. What it tried is printed, and looked for afterwards.
 */
import dns from 'node:dns';
import net from 'node:net';
import { syncBuiltinESMExports } from 'node:module';

const isLoopback = (host: string) => /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);

function refuse(host: string): Error {
  process.stderr.write(`left the machine: ${host}\n`);
  return Object.assign(new Error('only loopback is reached here'), { code: 'ENETUNREACH' });
}

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function connectNearby(this: net.Socket, ...args: unknown[]) {
  const [first] = (Array.isArray(args[0]) ? args[0] : args) as [{ host?: string; path?: string } | undefined];
  const host = typeof first === 'object' ? first?.host : undefined;
  if (host !== undefined && net.isIP(host) !== 0 && !isLoopback(host)) return this.destroy(refuse(host));
  return Reflect.apply(connect, this, args);
} as typeof connect;

/** Names are not asked for, either: no resolver is told what was looked up. */
dns.lookup = ((host: string, options: unknown, callback?: unknown) => {
  const done = (callback ?? options) as (error: Error | null, address?: unknown, family?: number) => void;
  const all = typeof options === 'object' && options !== null && 'all' in options && options.all === true;
  if (!isLoopback(host))
    return process.nextTick(done, Object.assign(new Error('no names here'), { code: 'ENOTFOUND' }));
  process.nextTick(() => (all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)));
}) as typeof dns.lookup;
dns.promises.lookup = (async (host: string, options?: { all?: boolean }) => {
  if (!isLoopback(host)) throw Object.assign(new Error('no names here'), { code: 'ENOTFOUND' });
  const found = { address: '127.0.0.1', family: 4 };
  return options?.all ? [found] : found;
}) as typeof dns.promises.lookup;
syncBuiltinESMExports();
