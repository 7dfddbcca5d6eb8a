import Type, { type Static } from 'typebox';
import { nullable, timestamp, words } from './shared.ts';

/** Section 18.1 of the API. */

export const containerTagsAnswer = Type.Array(
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    containerTag: Type.String(),
    description: nullable(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
    isExperimental: Type.Boolean(),
    isNova: Type.Boolean({ description: 'The tag begins with sm_project_.' }),
    visibility: words(['public', 'private', 'unlisted']),
    documentCount: Type.Integer(),
    memoryCount: Type.Integer(),
    lastActivityAt: nullable(timestamp),
  }),
  { description: 'The one with the newest activity first.' },
);
export type ContainerTagAnswer = Static<typeof containerTagsAnswer>[number];
