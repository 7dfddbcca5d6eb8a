import { firstOf } from '../base/collections.ts';
import { readScope, requireWrite, type Caller } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import type { McpCall } from './tool.ts';

/**
 * The namespace of a call (section 21 of the API): the one that is named, else the only one of a
 * scoped key, else the default one. Throws `forbidden` when the key may not read it.
 */
export function containerToRead(call: McpCall, named: string | undefined): string {
  const tag = named ?? requiredContainer(call);
  readScope(call.caller, [tag]);
  return tag;
}

/** The same for a change; throws `forbidden` when the key may not write there. */
export function containerToWrite(call: McpCall, named: string | undefined): string {
  const tag = named ?? requiredContainer(call);
  requireWrite(call.caller, tag);
  return tag;
}

/** The container of a call that names none; null for a key that has several and not the default one. */
export function usualContainer({ caller, config }: Pick<McpCall, 'caller' | 'config'>): string | null {
  const granted = grantedContainers(caller);
  if (granted === null || granted.includes(config.defaultContainerTag)) return config.defaultContainerTag;
  return granted.length === 1 ? firstOf(granted) : null;
}

/** Null: every container. */
export function grantedContainers(caller: Caller): string[] | null {
  return caller.kind === 'full' ? null : caller.grants.map(({ containerTag }) => containerTag);
}

function requiredContainer(call: McpCall): string {
  const tag = usualContainer(call);
  if (tag !== null) return tag;
  throw new MemorydError('invalid_request', 'namespace is required for this key', {
    details: 'listSpaces shows which ones it may use',
  });
}
