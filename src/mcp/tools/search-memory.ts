import Type from 'typebox';
import { readScope } from '../../account/access.ts';
import type { SearchResult } from '../../search/search.ts';
import { containerToRead } from '../container.ts';
import { inContainer } from '../schemas.ts';
import { joined, percent, profileLines, section } from '../text.ts';
import { defineTool } from '../tool.ts';

const texts = Type.Array(Type.String());

export const searchMemory = defineTool(
  {
    name: 'search_memory',
    title: 'Search memory',
    description:
      'Searches what is remembered: memories, and passages of mirrored documents. Also answers the profile of the space: what is known to hold in general, and what is recent.',
    effect: 'reads',
    input: Type.Object({
      query: Type.String({
        maxLength: 1000,
        pattern: '\\S',
        'x-expected': 'text of 1 to 1000 characters',
        description: 'What to look for, in plain words.',
      }),
      includeProfile: Type.Optional(Type.Boolean({ default: true })),
      ...inContainer,
    }),
    output: Type.Object({
      query: Type.String(),
      containerTag: Type.String(),
      profile: Type.Optional(Type.Object({ static: texts, dynamic: texts })),
      results: Type.Array(
        Type.Object({
          id: Type.String(),
          text: Type.String(),
          similarity: Type.Number(),
          title: Type.Optional(Type.String()),
        }),
      ),
      total: Type.Integer(),
      timing: Type.Integer({ description: 'Milliseconds.' }),
    }),
  },
  async ({ query, includeProfile = true, containerTag: named }, call) => {
    const { services, clock, caller, signal } = call;
    const startedAtMs = clock.now().getTime();
    const containerTag = containerToRead(call, named);
    const [found, profile] = await Promise.all([
      services.search.search({
        ...{ q: query, mode: 'hybrid', threshold: 0.6, limit: 10, includeDocuments: true, signal },
        scope: readScope(caller, [containerTag]),
      }),
      includeProfile ? services.profiles.read({ containerTag, sections: ['static', 'dynamic'] }) : null,
    ]);
    const { static: lasting = [], dynamic = [] } = profile ?? {};
    return {
      text: joined(
        [...section('Profile', profileLines(profile ?? {})), ...section('Matching memories', found.map(lineOf))],
        'Nothing is remembered about this.',
      ),
      structured: {
        ...{ query, containerTag },
        ...(profile && { profile: { static: lasting, dynamic } }),
        results: found.map(resultOf),
        total: found.length,
        timing: clock.now().getTime() - startedAtMs,
      },
    };
  },
);

function lineOf({ text, similarity }: SearchResult): string {
  return `[${percent(similarity)}] ${text}`;
}

function resultOf({ id, text, similarity, documents }: SearchResult) {
  const title = documents[0]?.title ?? null;
  return { id, text, similarity, ...(title !== null && { title }) };
}
