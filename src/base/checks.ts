import { isIP } from 'node:net';
import type { Config } from './config.ts';
import { access, constants, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { openToOthers } from './private-files.ts';

/** One result of checking the machine and the daemon on it, as `memoryd doctor` and the API show it. */
export interface Finding {
  name: string;
  ok: boolean;
  detail: string;
  /** How to mend it; null when nothing is wrong. */
  remedy: string | null;
}

/** Thrown by a check: what is wrong, and what to do about it. */
export class CheckFailed extends Error {
  readonly remedy: string | null;

  constructor(message: string, remedy: string | null = null) {
    super(message);
    this.name = 'CheckFailed';
    this.remedy = remedy;
  }
}

/** Answers what is right, or throws. */
export type HealthCheck = () => Promise<string> | string;

/** Puts what a check did not foresee into words. */
export type Explain = (error: unknown) => { message: string; details: string | null };

/** One after the other, in their order: some need much of the machine. */
export async function runChecks(checks: Readonly<Record<string, HealthCheck>>, explain: Explain): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, check] of Object.entries(checks)) findings.push(await look(name, check, explain));
  return findings;
}

async function look(name: string, check: HealthCheck, explain: Explain): Promise<Finding> {
  try {
    return { name, ok: true, detail: await check(), remedy: null };
  } catch (error) {
    if (error instanceof CheckFailed) return { name, ok: false, detail: error.message, remedy: error.remedy };
    const { message, details } = explain(error);
    return { name, ok: false, detail: message, remedy: details };
  }
}

// ---- What is checked wherever it is asked for

export const nodeCheck: HealthCheck = () => `${process.version} at ${process.execPath}`;

export function checkConfiguration(config: Config, from: string): string {
  const risks = risksOf(config);
  if (risks.length > 0) throw new CheckFailed(risks.join(' '));
  return from;
}

export async function checkDataDirectory(path: string): Promise<string> {
  const { existing, missing } = await nearestExisting(path);
  await access(existing, constants.R_OK | constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    const remedy = 'Let the user of the daemon read and write it, or choose another one with the setting dataDir.';
    throw new CheckFailed(`${existing} cannot be read and written (${error.code}).`, remedy);
  });
  const { bavail, bsize } = await statfs(existing);
  const gibibytes = (bavail * bsize) / 2 ** 30;
  if (gibibytes < 0.5) {
    throw new CheckFailed(`${path}: less than half a GiB is free.`, 'Make room, or move it to a larger disk.');
  }
  const [open] = missing ? [] : await openToOthers(path);
  if (open) {
    const mode = open.mode.toString(8).padStart(4, '0');
    throw new CheckFailed(
      `${open.path} can be read by other users of this machine (mode ${mode}).`,
      `The next start of the daemon mends it; until then: chmod -R go-rwx ${path}`,
    );
  }
  return `${path}${missing ? ' (not made yet)' : ''}, ${gibibytes.toFixed(1)} GiB free`;
}

/** The directory itself, or the one in which it would be made. */
async function nearestExisting(path: string): Promise<{ existing: string; missing: boolean }> {
  for (let candidate = path; ; candidate = dirname(candidate)) {
    try {
      await access(candidate);
      return { existing: candidate, missing: candidate !== path };
    } catch (error) {
      if (candidate === dirname(candidate)) throw error;
    }
  }
}

export function checkConnectors(installed: readonly string[], broken: readonly { plugin: string; reason: string }[]) {
  if (broken.length > 0) {
    throw new CheckFailed(
      broken.map(({ plugin, reason }) => `${plugin}: ${reason}`).join(' '),
      'Mend or remove it in the setting connectors, and start the daemon again.',
    );
  }
  return installed.join(', ');
}

/** A model that has tested itself. */
interface Tested {
  id: string;
  runtime: string;
  ok: boolean;
  checks: readonly { name: string; ok: boolean; detail: string }[];
}

export function checkModel({ id, runtime, ok, checks }: Tested): string {
  if (!ok) {
    const failed = checks.filter((check) => !check.ok).map(({ name, detail }) => `${name}: ${detail}`);
    throw new CheckFailed(failed.join('; '), 'Fetch the model again, or choose another one: see `memoryd models`.');
  }
  const slowness = slownessOf(runtime);
  return `${id} on ${runtime}${slowness ? `. ${slowness}` : ''}`;
}

/** None is no fault: the rules need none. */
export const noLanguageModel = 'not configured, memories are found by rules';

interface Connected {
  id: string;
  status: string;
  statusReason?: string | null | undefined;
  problems?: readonly { partition: string | null; title: string | null; reason: string }[] | undefined;
}

/** Names parts of sources that are mirrored late or not at all although nobody asked for that. */
export function checkConnections(connections: readonly Connected[]): string {
  const notes = connections.flatMap(({ id, status, statusReason, problems = [] }) =>
    [
      ...(status === 'needs_reauth' || status === 'needs_configuration' ? [statusReason ?? status] : []),
      ...problems.map(problemNote),
    ].map((note) => `${id}: ${note}`),
  );
  if (notes.length > 0) throw new CheckFailed(notes.join(' '));
  return connections.length === 0 ? 'none' : `${connections.length}, all of them can be read`;
}

/** `docs: Could not be read: …`. A part that is left alone, cannot be read, or is found late. */
export function problemNote({
  title,
  partition,
  reason,
}: {
  title: string | null;
  partition: string | null;
  reason: string;
}): string {
  return partition === null ? reason : `${title ?? partition}: ${reason}`;
}

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

/** A warning about a runtime that is slower than it has to be; null for the others. */
export function slownessOf(runtime: string): string | null {
  if (runtime !== 'onnxruntime-web') return null;
  return 'It computes in WebAssembly, about five times slower than native code. `memoryd models verify` says why: there is no native library for this platform, or it cannot be unpacked or loaded.';
}
