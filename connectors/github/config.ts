import type { JsonSchema } from 'memoryd/connector';

export type ContentKind = 'files' | 'issues' | 'releases' | 'discussions' | 'wiki';

/** Settings of a connection of this connector. Absent fields have the defaults of `configSchema`. */
export interface GithubConfig {
  repositories?: string[];
  content?: ContentKind[];
  defaultExcludes?: boolean;
  baseUrl?: string;
  webUrl?: string;
}

const defaultBaseUrl = 'https://api.github.com';
const contentKinds: ContentKind[] = ['files', 'issues', 'releases', 'discussions', 'wiki'];
const defaultContent: ContentKind[] = ['files', 'issues', 'releases'];
const defaultWebUrl = 'https://github.com';

export const configSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    repositories: {
      type: 'array',
      items: { type: 'string', pattern: '^[^/@\\s]+/[^/@\\s]+(@\\S+)?$' },
      title: 'Repositories',
      description:
        'Each as `owner/name` for the default branch or `owner/name@branch`. Leave it empty to choose them from a list once it is connected; what is chosen there takes their place.',
      default: [],
      'x-order': 1,
    },
    content: {
      type: 'array',
      items: { enum: contentKinds },
      minItems: 1,
      uniqueItems: true,
      title: 'Content',
      description:
        'Files of the branch (`files`), issues and pull requests with their comments (`issues`), `releases`, `discussions`, pages of the `wiki`.',
      default: defaultContent,
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
      description: 'Where users log in and wikis are, without a slash at the end. Only for OAuth and wikis.',
      default: defaultWebUrl,
      'x-order': 5,
    },
  },
};

export const contentOf = (config: GithubConfig): readonly ContentKind[] => config.content ?? defaultContent;

export const baseUrlOf = (config: GithubConfig) => config.baseUrl ?? defaultBaseUrl;

/**
 * Where people see what the API shows. A server of one's own has both on one host, so that its token never
 * goes to github.com because nobody said where its pages are.
 */
export function webUrlOf(config: GithubConfig): string {
  const baseUrl = baseUrlOf(config);
  const isGiven = config.webUrl !== undefined && config.webUrl !== defaultWebUrl;
  if (isGiven || baseUrl === defaultBaseUrl) return config.webUrl ?? defaultWebUrl;
  // `https://api.NAME.ghe.com` of GitHub Enterprise Cloud, `https://HOST/api/v3` of GitHub Enterprise Server.
  return new URL(baseUrl).origin.replace('://api.', '://');
}
