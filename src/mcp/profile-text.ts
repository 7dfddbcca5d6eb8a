import { readScope } from '../account/access.ts';
import { containerToRead, usualContainer } from './container.ts';
import { joined, profileLines, section } from './text.ts';
import type { McpCall } from './tool.ts';

/** Other containers that a conversation is told about. */
const maxOthers = 3;

/** What is known of the container of a call, as text. */
export async function profileText(call: McpCall): Promise<string> {
  const tag = containerToRead(call, undefined);
  return joined(await profileSection(call, tag), `Nothing is known in ${tag} yet.`);
}

/** The same, with up to three containers beside it that were active lately. */
export async function contextText(call: McpCall): Promise<string> {
  const own = usualContainer(call);
  const containers = await call.services.containerTags.list(readScope(call.caller, []));
  const others = containers.map(({ containerTag }) => containerTag).filter((tag) => tag !== own);
  const tags = [...(own === null ? [] : [own]), ...others.slice(0, maxOthers)];
  const sections = await Promise.all(tags.map((tag) => profileSection(call, tag)));
  return joined(sections.flat(), 'Nothing is known yet.');
}

async function profileSection({ services }: McpCall, containerTag: string): Promise<string[]> {
  const profile = await services.profiles.read({ containerTag, sections: ['static', 'dynamic'] });
  return section(`Profile of ${containerTag}`, profileLines(profile));
}
