import type { JsonSchema } from 'memoryd/connector';

/** Settings of a connection of this connector. Absent fields have the defaults of `configSchema`. */
export interface FolderConfig {
  path: string;
  include?: string[];
  exclude?: string[];
  defaultExcludes?: boolean;
  hidden?: boolean;
  gitignore?: boolean;
  followSymlinks?: boolean;
  maxItemBytes?: number;
  watch?: boolean;
  pollEveryMs?: number;
}

export const defaultMaxItemBytes = 25 * 1024 * 1024;
export const defaultPollEveryMs = 60_000;

const globRules =
  'A pattern without `/` matches a name at any depth (`*.md`, `drafts`), one with `/` matches the path from the root (`notes/**/*.md`, `/inbox`); one that ends in `/` matches folders only.';

const globs = { type: 'array', items: { type: 'string', minLength: 1, pattern: '^[^!]' } };

export const configSchema: JsonSchema = {
  type: 'object',
  required: ['path'],
  additionalProperties: false,
  properties: {
    path: {
      type: 'string',
      minLength: 1,
      title: 'Folder',
      description: 'Absolute path of the folder to mirror; `~/` stands for the home folder of the daemon’s user.',
      'x-order': 1,
      'x-local-path': true,
    },
    include: {
      ...globs,
      title: 'Only these',
      description: `Mirror only files that match one of these glob patterns, or lie in a folder that does. ${globRules}`,
      default: [],
      'x-order': 2,
    },
    exclude: {
      ...globs,
      title: 'Not these',
      description: `Do not mirror files and folders that match one of these glob patterns; wins over \`include\`. ${globRules}`,
      default: [],
      'x-order': 3,
    },
    defaultExcludes: {
      type: 'boolean',
      title: 'Leave out the usual clutter',
      description:
        'Also exclude version control, node_modules, files of the operating system, temporary files of editors and partial downloads.',
      default: true,
      'x-order': 4,
    },
    hidden: {
      type: 'boolean',
      title: 'Hidden files',
      description: 'Mirror files and folders whose name begins with a dot.',
      default: false,
      'x-order': 5,
    },
    gitignore: {
      type: 'boolean',
      title: 'Honour .gitignore',
      description: 'Leave out what the .gitignore files in the folder and its subfolders exclude.',
      default: false,
      'x-order': 6,
    },
    followSymlinks: {
      type: 'boolean',
      title: 'Follow symbolic links',
      description: 'Mirror what a symbolic link leads to, as long as that lies inside the folder.',
      default: false,
      'x-order': 7,
    },
    maxItemBytes: {
      type: 'integer',
      minimum: 1,
      title: 'Largest file',
      description: 'Files with more bytes than this are skipped with the reason `too_large`.',
      default: defaultMaxItemBytes,
      'x-order': 8,
    },
    watch: {
      type: 'boolean',
      title: 'Watch for changes',
      description: 'Take changes over within a second or two. Without it the folder is listed every `pollEveryMs`.',
      default: true,
      'x-order': 9,
    },
    pollEveryMs: {
      type: 'integer',
      minimum: 1_000,
      title: 'Polling interval',
      description:
        'Milliseconds between listings when the folder is not or cannot be watched: network file systems, too many folders for the system’s limit.',
      default: defaultPollEveryMs,
      'x-order': 10,
    },
  },
};
