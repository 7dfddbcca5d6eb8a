import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/config.ts';

export interface BrowserOptions {
  env: Environment;
  clock: Clock;
  platform: NodeJS.Platform;
}

/** A program that still runs by then has become the browser. */
const patienceMs = 2_000;

/** Opens an address in the browser of whoever sits at this machine. False when there is none. */
export async function openBrowser(url: string, { env, clock, platform }: BrowserOptions): Promise<boolean> {
  const command = commandFor(platform, env);
  if (command === null) return false;
  const [program, ...parameters] = command;
  const child = spawn(program, [...parameters, url], { env, stdio: 'ignore', detached: true });
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

function commandFor(platform: NodeJS.Platform, env: Environment): [string, ...string[]] | null {
  if (platform === 'darwin') return ['open'];
  // `start` is no program, and its shell would read `&` in an address.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : null;
}
