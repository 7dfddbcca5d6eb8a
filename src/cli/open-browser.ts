import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/config.ts';

export interface BrowserOptions {
  env: Environment;
  clock: Clock;
  platform: NodeJS.Platform;
  /** Ends the wait for the browser. */
  signal: AbortSignal;
}

export interface OpenedBrowser {
  /** Resolves when the browser has had time to read the address; until then it lies in a file. */
  hasRead: Promise<void>;
}

/** A program that still runs by then has become the browser. */
const patienceMs = 2_000;
/** How long a browser that is started may take until it reads. */
const readMs = 10_000;

/**
 * Opens an address that signs in, in the browser of whoever sits at this machine. Null when there is none. Everybody on
 * the machine sees what a program was started with, so that is a file for the eyes of this user, which leads there.
 */
export async function openBrowser(url: string, options: BrowserOptions): Promise<OpenedBrowser | null> {
  const command = commandFor(options.platform, options.env);
  if (command === null) return null;
  const folder = await newFolder(options);
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const file = join(folder, 'open.html');
    await writeFile(file, leadingTo(url), { mode: 0o600 });
    if (!(await starts([...command, pathToFileURL(file).href], options))) {
      await remove();
      return null;
    }
  } catch (error) {
    await remove();
    throw error;
  }
  return { hasRead: options.clock.sleep(readMs, options.signal).then(remove) };
}

/** Readable by this user alone. Browsers that come as snaps read neither the temporary folder nor hidden ones. */
async function newFolder({ env, platform }: BrowserOptions): Promise<string> {
  const home = platform === 'linux' ? env['HOME'] : undefined;
  const inTemporary = () => mkdtemp(join(tmpdir(), 'memoryd-open-'));
  return home ? mkdtemp(join(home, 'memoryd-open-')).catch(inTemporary) : inTemporary();
}

function leadingTo(url: string): string {
  const address = url.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return [
    '<!doctype html>',
    '<meta charset="utf-8">',
    '<meta name="referrer" content="no-referrer">',
    `<meta http-equiv="refresh" content="0; url=${address}">`,
    '<title>memoryd</title>',
    `<a href="${address}">Open the console</a>`,
    '',
  ].join('\n');
}

async function starts([program = '', ...parameters]: string[], { env, clock }: BrowserOptions): Promise<boolean> {
  const child = spawn(program, parameters, { env, stdio: 'ignore', detached: true });
  child.unref();
  const waited = new AbortController();
  try {
    const ended = once(child, 'exit') as Promise<[number | null]>;
    const [code] = await Promise.race([ended, clock.sleep(patienceMs, waited.signal).then(() => [0] as const)]);
    return code === 0;
  } catch {
    return false;
  } finally {
    waited.abort();
  }
}

function commandFor(platform: NodeJS.Platform, env: Environment): string[] | null {
  if (platform === 'darwin') return ['open'];
  // `start` is no program, and its shell would read `&` in an address.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : null;
}
