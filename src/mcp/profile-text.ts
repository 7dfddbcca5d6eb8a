import { readScope } from '../account/access.ts';
import type { CitedMemory } from '../memory/profiles.ts';
import { containerToRead, usualContainer } from './container.ts';
import { createFence, fenceNote, type Fence } from './fence.ts';
import { joined, oneLine, section } from './text.ts';
import type { McpCall } from './tool.ts';

/** Other containers that a conversation is told about. */
const maxOthers = 3;

export interface ShownProfile {
  containerTag: string;
  static: string[];
  dynamic: string[];
  facts: CitedMemory[];
}

export async function readProfile({ services }: McpCall, containerTag: string): Promise<ShownProfile> {
  const profile = await services.profiles.read({ containerTag, sections: ['static', 'dynamic'] });
  const { static: lasting = [], dynamic = [], facts } = profile;
  const textsOf = (lines: typeof lasting) => lines.map(({ memory }) => memory);
  return { containerTag, static: textsOf(lasting), dynamic: textsOf(dynamic), facts };
}

/** Told facts, then mirrored ones; nothing for an empty profile. */
export function profileSections({ containerTag, facts, ...lists }: ShownProfile, fence: Fence): string[] {
  const lines = [...lists.static, ...lists.dynamic];
  const mirrored = new Set(facts.filter(({ trust }) => trust !== 'told').map(({ memory }) => memory));
  const told = lines.filter((line) => !mirrored.has(line)).map(oneLine);
  const read = lines.filter((line) => mirrored.has(line)).map((line) => `- ${oneLine(line)}`);
  return [
    ...section(`Profile of ${containerTag}`, told),
    ...(read.length === 0
      ? []
      : [`## Profile of ${containerTag}, from mirrored sources\n${fenceNote}\n\n${fence(read.join('\n'))}`]),
  ];
}

/** The profile of a call's container, as text. */
export async function profileText(call: McpCall): Promise<string> {
  const tag = containerToRead(call, undefined);
  return textOf([await readProfile(call, tag)], `Nothing is known in ${tag} yet.`);
}

/** The same, with up to three containers beside it that were active lately. */
export async function contextText(call: McpCall): Promise<string> {
  const own = usualContainer(call);
  const containers = await call.services.containerTags.list(readScope(call.caller, []));
  const others = containers.map(({ containerTag }) => containerTag).filter((tag) => tag !== own);
  const tags = [...(own === null ? [] : [own]), ...others.slice(0, maxOthers)];
  return textOf(await Promise.all(tags.map((tag) => readProfile(call, tag))), 'Nothing is known yet.');
}

function textOf(profiles: readonly ShownProfile[], nothing: string): string {
  const fence = createFence(profiles.flatMap(({ facts }) => facts.map(({ memory }) => memory)));
  return joined(
    profiles.flatMap((profile) => profileSections(profile, fence)),
    nothing,
  );
}
