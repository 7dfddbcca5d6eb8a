import { isIP } from 'node:net';
import type { Config } from './config.ts';

const safeKeyLength = 24;

/** Settings that make the daemon easier to break into than it need be, each with its remedy. For the log and `doctor`. */
export function risksOf({
  apiKey,
  host,
  publicUrl,
  tls,
}: Pick<Config, 'apiKey' | 'host' | 'publicUrl' | 'tls'>): string[] {
  const risks: string[] = [];
  if (apiKey !== undefined && apiKey.length < safeKeyLength) {
    risks.push(
      `The key of the setting apiKey has fewer than ${safeKeyLength} characters and could be guessed. Make one with \`openssl rand -base64 24\`.`,
    );
  }
  const isPlain = tls.certFile === undefined && !publicUrl?.startsWith('https:');
  if (isPlain && !isLoopback(host)) {
    risks.push(
      `It listens on ${host} without encryption: keys and content can be read on the way. Set tls.certFile and tls.keyFile, or put a proxy with TLS before it and set publicUrl to its https address.`,
    );
  }
  return risks;
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host === 'localhost' || host.endsWith('.localhost');
  return host === '::1' || host.startsWith('127.');
}
