/**
 * Loaded before a program (`--import`) that is attacked: it reaches nothing but this machine, whatever it is made to
 * ask for. What it tried is printed, and looked for afterwards. Some names and one address of the internet are played
 * by this machine (see `attack/internet.ts`).
 */
import dns from 'node:dns';
import net from 'node:net';
import { syncBuiltinESMExports } from 'node:module';
import { played, playedNames } from './attack/internet.ts';

const isLoopback = (host: string) => /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);

function refuse(host: string): Error {
  process.stderr.write(`left the machine: ${host}\n`);
  return Object.assign(new Error('only loopback is reached here'), { code: 'ENETUNREACH' });
}

interface Wanted {
  host?: string;
  lookup?: net.LookupFunction;
}

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function connectNearby(this: net.Socket, ...args: unknown[]) {
  const [wanted] = (Array.isArray(args[0]) ? args[0] : args) as [Wanted | undefined];
  if (typeof wanted !== 'object' || wanted.host === undefined) return Reflect.apply(connect, this, args);
  if (wanted.host === played.publicAddress) wanted.host = played.loopbackAddress;
  if (net.isIP(wanted.host) !== 0 && !isLoopback(wanted.host)) return this.destroy(refuse(wanted.host));
  if (wanted.lookup) wanted.lookup = nearby(wanted.lookup);
  return Reflect.apply(connect, this, args);
} as typeof connect;

/** A look-up of the program's own, whose answers are what it connects to. */
function nearby(lookup: net.LookupFunction): net.LookupFunction {
  return (host, options, done) =>
    lookup(host, options, (error, found, family) => {
      if (error) return done(error, found, family);
      const addresses = (Array.isArray(found) ? found : [{ address: found, family: family ?? 4 }]).map((one) =>
        one.address === played.publicAddress ? { ...one, address: played.loopbackAddress } : one,
      );
      const outside = addresses.find(({ address }) => !isLoopback(address));
      if (outside) return done(refuse(outside.address), '', 0);
      if (Array.isArray(found)) done(null, addresses);
      else done(null, addresses[0]!.address, addresses[0]!.family);
    });
}

/** How often each played name was looked up. */
const lookUps = new Map<string, number>();

/** Names are not asked for, either: no resolver is told what was looked up. Null: there is no such name. */
function addressesOf(host: string): { address: string; family: number }[] | null {
  if (isLoopback(host)) return [{ address: '127.0.0.1', family: 4 }];
  const answers = playedNames[host];
  if (!answers) return null;
  const count = lookUps.get(host) ?? 0;
  lookUps.set(host, count + 1);
  return answers[Math.min(count, answers.length - 1)]!.map((address) => ({ address, family: net.isIP(address) }));
}

const unknownName = () => Object.assign(new Error('no names here'), { code: 'ENOTFOUND' });
const wantsAll = (options: unknown) =>
  typeof options === 'object' && options !== null && 'all' in options && options.all === true;

dns.lookup = ((host: string, options: unknown, callback?: unknown) => {
  const done = (callback ?? options) as (error: Error | null, address?: unknown, family?: number) => void;
  const found = addressesOf(host);
  if (!found) return process.nextTick(done, unknownName());
  process.nextTick(() => (wantsAll(options) ? done(null, found) : done(null, found[0]!.address, found[0]!.family)));
}) as typeof dns.lookup;
dns.promises.lookup = (async (host: string, options?: { all?: boolean }) => {
  const found = addressesOf(host);
  if (!found) throw unknownName();
  return wantsAll(options) ? found : found[0];
}) as typeof dns.promises.lookup;
syncBuiltinESMExports();
