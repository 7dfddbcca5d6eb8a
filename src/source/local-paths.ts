import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { MemorydError } from '../base/errors.ts';
import type { ConnectorSpec, JsonObject } from '../connector/contract.ts';

/**
 * Throws `forbidden` when a setting that the connector marks with `"x-local-path": true` leads out of the folders
 * that may be connected through the API. Links are followed first, so a link in such a folder leads nowhere else.
 */
export async function checkLocalPaths(
  spec: ConnectorSpec,
  config: JsonObject,
  roots: readonly string[],
): Promise<void> {
  const paths = localPathsOf(spec, config);
  if (paths.length === 0) return;
  if (roots.length === 0) throw notThroughTheApi('Folders of this machine cannot be connected through the API');
  const allowed = await Promise.all(roots.map(realPathOf));
  for (const path of paths) {
    const real = await realPathOf(path);
    if (allowed.some((root) => isWithin(root, real))) continue;
    throw notThroughTheApi(`${path} lies outside of the folders that may be connected through the API`);
  }
}

function notThroughTheApi(message: string): MemorydError {
  return new MemorydError('forbidden', message, {
    details:
      'Name the folders that may be in the setting MEMORYD_FOLDER_ROOTS, or connect it on the machine itself with `memoryd connect`',
  });
}

function localPathsOf(spec: ConnectorSpec, config: JsonObject): string[] {
  const properties = (spec.config['properties'] ?? {}) as Record<string, Record<string, unknown>>;
  return Object.keys(properties).flatMap((name) => {
    const value = config[name];
    return properties[name]!['x-local-path'] === true && typeof value === 'string' ? [value] : [];
  });
}

/** Of what is not there yet: the real path of the folder in which it would be. */
async function realPathOf(path: string): Promise<string> {
  const absolute = resolve(path.replace(/^~(?=$|[\\/])/, () => homedir()));
  try {
    return await realpath(absolute);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(absolute) === absolute) return absolute;
    return join(await realPathOf(dirname(absolute)), basename(absolute));
  }
}

function isWithin(root: string, path: string): boolean {
  const inside = relative(root, path);
  return inside === '' || (!isAbsolute(inside) && inside.split(/[\\/]/)[0] !== '..');
}
