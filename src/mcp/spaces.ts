import type { ContainerTagSummary } from '../account/container-tags.ts';
import { joined, section } from './text.ts';

/** Namespaces as the protocol's clients know them. */
export function spacesOf(containers: readonly ContainerTagSummary[]) {
  return containers.map(({ name, containerTag, description, documentCount, memoryCount, lastActivityAt }) => ({
    ...{ containerTag, description, documentCount, memoryCount },
    name: name ?? containerTag,
    visibility: 'private',
    emoji: null,
    lastActivityAt: lastActivityAt?.toISOString() ?? null,
  }));
}

export function spacesText(spaces: ReturnType<typeof spacesOf>): string {
  const lines = spaces.map(
    ({ name, containerTag, documentCount, memoryCount }) =>
      `${name} (namespace ${containerTag}): ${documentCount} documents, ${memoryCount} memories`,
  );
  return joined(section('Namespaces', lines), 'There are no namespaces yet.');
}
