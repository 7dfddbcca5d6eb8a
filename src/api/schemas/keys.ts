import Type, { type Static } from 'typebox';
import { containerTag, containerTags, nullable, timestamp, words, type Answered } from './shared.ts';

/** Section 22.1 and 22.2 of the API. */

const permission = words(['read', 'write'], { description: 'Default write.' });
const expiresInDays = Type.Integer({ minimum: 1, maximum: 365 });
const keyName = Type.String({ minLength: 1, maxLength: 100 });

const rateLimit = (standard: string) => ({
  rateLimitMax: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: standard })),
  rateLimitTimeWindow: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3_600_000, description: 'Milliseconds. Default 60000.' }),
  ),
});

const most = (description: string) =>
  Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })));

const quota = Type.Optional(
  Type.Object(
    {
      documents: most('Whose content it wrote last.'),
      bytes: most('Size of these documents: for each, the larger of the sent content and its text.'),
    },
    { additionalProperties: false, description: 'Limits of the key. Absent limits stay as they are; null: no limit.' },
  ),
);

export const scopedKeyBody = Type.Object({
  containerTag: Type.Optional(containerTag),
  containerTags: Type.Optional(Type.Array(containerTag, { minItems: 1, maxItems: 100 })),
  name: Type.Optional(keyName),
  permission: Type.Optional(permission),
  expiresInDays: Type.Optional(expiresInDays),
  ...rateLimit('Default 500.'),
  quota,
});
export type ScopedKeyBody = Static<typeof scopedKeyBody>;

const secret = Type.String({ description: 'The key. It is shown here and never again.' });

export const scopedKeyAnswer = Type.Object({
  key: secret,
  id: Type.String(),
  name: Type.String(),
  containerTag: Type.String(),
  containerTags: Type.Array(Type.String()),
  permission,
  expiresAt: nullable(timestamp),
  allowedEndpoints: Type.Array(Type.String()),
});

export const agentKeyBody = Type.Object({
  name: keyName,
  permission: Type.Optional(permission),
  containerTags: Type.Optional(Type.Array(containerTag, { maxItems: 100, description: 'None: a full key.' })),
  expiresInDays: Type.Optional(expiresInDays),
  ...rateLimit('Default: that of the configuration; with containerTags 500.'),
  quota,
});

export const agentKeyAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  key: secret,
  permission,
  containerTags: Type.Optional(Type.Array(Type.String())),
  expiresAt: Type.Optional(timestamp),
});

export const keyParams = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 100, description: 'Id of a key.' }),
});

export const changeKeyBody = Type.Object({
  name: Type.Optional(keyName),
  rateLimitMax: Type.Optional(
    nullable(
      Type.Integer({ minimum: 1, maximum: 10_000, description: 'Null: as if it had been made without a limit.' }),
    ),
  ),
  rateLimitTimeWindow: rateLimit('').rateLimitTimeWindow,
  quota,
});
export type ChangeKeyBody = Static<typeof changeKeyBody>;

export const rotateBody = Type.Object({
  overlapHours: Type.Optional(
    Type.Number({ minimum: 0, maximum: 720, description: 'How long the old key works on. Default 24.' }),
  ),
});

export const rotateAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  key: secret,
  permission,
  containerTags: Type.Array(Type.String()),
  expiresAt: nullable(timestamp),
  replaces: Type.Object({ id: Type.String(), expiresAt: timestamp }),
});

export const deleteKeyAnswer = Type.Object({ success: Type.Boolean(), id: Type.String() });

export const toggleAnswer = Type.Object({ id: Type.String(), enabled: Type.Boolean() });

export const keyAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  start: Type.String({ description: 'The first characters of the key.' }),
  kind: words(['full', 'scoped']),
  permission,
  containerTags: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  createdAt: timestamp,
  lastUsedAt: nullable(timestamp),
  expiresAt: nullable(timestamp),
  rateLimitMax: nullable(Type.Integer(), { description: 'Null: that of the configuration.' }),
  rateLimitTimeWindow: nullable(Type.Integer(), { description: 'Milliseconds.' }),
  quota: Type.Object({ documents: nullable(Type.Integer()), bytes: nullable(Type.Integer()) }),
  usage: nullable(Type.Object({ documents: Type.Integer(), bytes: Type.Integer() }), {
    description: 'Its usage, including that of keys it replaced. Null: it has no quota, so that nothing is counted.',
  }),
});

export const keysAnswer = Type.Object({ keys: Type.Array(keyAnswer, { description: 'Newest first.' }) });

export const sessionAnswer = Type.Object({
  user: Type.Object({ id: Type.String() }),
  org: Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String() }),
  role: words(['owner', 'member']),
  accessType: words(['full', 'restricted']),
  containerTags: Type.Unsafe<{ containerTag: string; permission: 'read' | 'write' }[] | null>(
    nullable(Type.Array(Type.Object({ containerTag: Type.String(), permission }))),
  ),
  scope: Type.Object({
    type: words(['full', 'scoped']),
    permission,
    tags: Type.Optional(containerTags),
    rateLimit: Type.Optional(Type.Object({ max: Type.Integer(), timeWindow: Type.Integer() })),
    expires: Type.Optional(timestamp),
  }),
});
export type SessionAnswer = Answered<typeof sessionAnswer>;
