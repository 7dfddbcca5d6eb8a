import Type, { type Static } from 'typebox';
import { nullable, type Answered } from './shared.ts';

/** Section 20 of the API. */

const bucketKey = Type.String({
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  'x-expected': '1 to 64 lower-case letters, digits, underscores and hyphens that begin with a letter or a digit',
});

export const bucket = Type.Object({ key: bucketKey, description: Type.String({ maxLength: 2_000 }) });

export const buckets = Type.Array(bucket, { maxItems: 50, description: 'Sections of profiles.' });

const itemPatterns = (description: string) =>
  Type.Unsafe<string[] | Record<string, unknown>>({
    description: `${description} Words of title and path, or lists of patterns with * by kind. For items of sources that are new or have changed, before they are read. Needs shouldLLMFilter.`,
    anyOf: [
      { type: 'array', items: { type: 'string', minLength: 1, maxLength: 20 } },
      {
        type: 'object',
        additionalProperties: true,
        properties: Object.fromEntries(
          [
            'patterns',
            'folders',
            'fileTypes',
            'folderNames',
            'titlePatterns',
            'urlPatterns',
            'databases',
            'pageTypes',
          ].map((name) => [name, { type: 'array', items: { type: 'string' } }]),
        ),
      },
      { type: 'null' },
    ],
    'x-expected': 'an array of words of 1 to 20 characters, an object of lists of patterns, or null',
  });

export const contentFields = {
  shouldLLMFilter: nullable(Type.Boolean()),
  filterPrompt: nullable(
    Type.String({
      minLength: 1,
      maxLength: 750,
      description:
        'Describes content worth keeping. Needs shouldLLMFilter. A language model makes memories only of what fits; it decides nothing about what is mirrored or found. Without one it is only stored.',
    }),
  ),
  includeItems: itemPatterns('Items to mirror; all when it is null.'),
  excludeItems: itemPatterns('Items not to mirror, even if includeItems names them.'),
  chunkSize: Type.Unsafe<number | null>({
    anyOf: [{ type: 'integer', const: -1 }, { type: 'integer', minimum: 64, maximum: 8192 }, { type: 'null' }],
    description: 'Tokens of a chunk; -1 is the standard.',
    'x-expected': '-1, an integer from 64 to 8192, or null',
  }),
  profileBuckets: Type.Unsafe<Static<typeof buckets> | null>(nullable(buckets)),
  workspacePrompt: nullable(Type.String({ maxLength: 1_500 })),
};

const enabled = nullable(Type.Boolean({ description: 'Use the OAuth client below.' }));
const clientId = nullable(Type.String({ maxLength: 500 }));
const clientSecret = nullable(
  Type.String({ maxLength: 500, description: 'Shown as ********; that text leaves it as it is.' }),
);

const clientFields = {
  googleDriveCustomKeyEnabled: enabled,
  googleDriveClientId: clientId,
  googleDriveClientSecret: clientSecret,
  notionCustomKeyEnabled: enabled,
  notionClientId: clientId,
  notionClientSecret: clientSecret,
  onedriveCustomKeyEnabled: enabled,
  onedriveClientId: clientId,
  onedriveClientSecret: clientSecret,
  githubCustomKeyEnabled: enabled,
  githubClientId: clientId,
  githubClientSecret: clientSecret,
};

export const settingsAnswer = Type.Object({ ...contentFields, ...clientFields });
export type SettingsAnswer = Answered<typeof settingsAnswer>;

export const settingsBody = Type.Partial(settingsAnswer);
export type SettingsBody = Static<typeof settingsBody>;

export const settingsChangeAnswer = Type.Object({
  orgId: Type.String(),
  orgSlug: Type.String(),
  updated: settingsAnswer,
});

export const suggestionsAnswer = Type.Object({ suggestions: Type.Array(bucket) });

export const resetBody = Type.Object({
  confirmation: Type.String({ minLength: 1, description: 'Slug or name of the organization.' }),
});

export const resetAnswer = Type.Object({
  success: Type.Boolean(),
  deletedConnections: Type.Integer(),
  deletedDocumentBatches: Type.Integer(),
  deletedDocumentsApprox: Type.Integer(),
  deletedMemoryRows: Type.Integer(),
  deletedExtraSpaces: Type.Integer(),
  clearedDefaultSpaceContext: Type.Boolean(),
  clearedBrainMemoryRegistry: Type.Boolean(),
  settingsReset: Type.Boolean(),
});
