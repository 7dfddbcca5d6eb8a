import type { JsonSchema } from 'memoryd/connector';

export type ContentKind = 'files' | 'issues' | 'releases';

/** What a connection of this connector is configured with. Absent fields have the defaults of `configSchema`. */
export interface GithubConfig {
  repositories?: string[];
  content?: ContentKind[];
  defaultExcludes?: boolean;
  baseUrl?: string;
  webUrl?: string;
}

export const defaultBaseUrl = 'https://api.github.com';
const contentKinds: ContentKind[] = ['files', 'issues', 'releases'];

export const configSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    repositories: {
      type: 'array',
      items: { type: 'string', pattern: '^[^/@\\s]+/[^/@\\s]+(@\\S+)?$' },
      title: 'Repositories',
      description:
        'Each as `owner/name` for the default branch or `owner/name@branch`. Resources that were chosen for the connection take their place.',
      default: [],
      'x-order': 1,
    },
    content: {
      type: 'array',
      items: { enum: contentKinds },
      minItems: 1,
      uniqueItems: true,
      title: 'Content',
      description: 'Files of the branch, issues and pull requests with their comments, releases.',
      default: contentKinds,
      'x-order': 2,
    },
    defaultExcludes: {
      type: 'boolean',
      title: 'Leave out the usual clutter',
      description: 'Leave out vendored and generated files: node_modules, vendor, lock files, minified code.',
      default: true,
      'x-order': 3,
    },
    baseUrl: {
      type: 'string',
      format: 'uri',
      pattern: '^https?://[^\\s?#]*[^\\s?#/]$',
      title: 'API address',
      description: 'For GitHub Enterprise Server `https://HOST/api/v3`, without a slash at the end.',
      default: defaultBaseUrl,
      'x-order': 4,
    },
    webUrl: {
      type: 'string',
      format: 'uri',
      pattern: '^https?://[^\\s?#]*[^\\s?#/]$',
      title: 'Web address',
      description: 'Where users log in, without a slash at the end. Only for OAuth.',
      default: 'https://github.com',
      'x-order': 5,
    },
  },
};

export const contentOf = (config: GithubConfig): readonly ContentKind[] => config.content ?? contentKinds;
