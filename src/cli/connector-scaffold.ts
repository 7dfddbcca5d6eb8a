import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandFailure, exitCodes } from './exit.ts';

const validName = /^[a-z][a-z0-9-]{1,31}$/;
const templates = new URL('connector-template/', import.meta.url);
const ownFolder = fileURLToPath(new URL('../../', import.meta.url));

/** Where each template goes. npm leaves out files that are named .gitignore, so that one has no dot. */
const files: Readonly<Record<string, string>> = {
  'package.json': 'package.json',
  'src/connector.ts': 'connector.ts',
  'test/fake-server.ts': 'fake-server.ts',
  'test/connector.test.ts': 'connector.test.ts',
  'README.md': 'README.md',
  'tsconfig.json': 'tsconfig.json',
  'tsconfig.build.json': 'tsconfig.build.json',
  'vitest.config.ts': 'vitest.config.ts',
  '.gitignore': 'gitignore',
};

export interface Scaffold {
  name: string;
  /** Absolute; made if it is not there. */
  folder: string;
  /** Of memoryd. */
  version: string;
  /** For people. Default: made of the name. */
  title?: string;
}

/** Writes the package of a new connector; answers the files from its folder. Never overwrites anything. */
export async function scaffoldConnector({ name, folder, version, title }: Scaffold): Promise<string[]> {
  if (!validName.test(name)) {
    throw new CommandFailure(exitCodes.usage, `${name} is no name for a connector.`, {
      remedy: 'It must have 2 to 32 lower-case letters, digits and hyphens, and begin with a letter.',
    });
  }
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandFailure(exitCodes.usage, `${folder} is not empty.`, { remedy: 'Choose another with --into.' });
  }
  const values = {
    NAME: name,
    TITLE: sourceText(title ?? titleOf(name)),
    VERSION: version,
    MEMORYD: memorydFor(folder, version),
  };
  for (const [path, template] of Object.entries(files)) {
    const text = await readFile(new URL(`${template}.template`, templates), 'utf8');
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), fill(text, values));
  }
  return Object.keys(files);
}

/**
 * What the new package installs as memoryd: the published version, or this very folder when it is a
 * clone, whose version the registry need not have.
 */
function memorydFor(folder: string, version: string): string {
  if (ownFolder.split(sep).includes('node_modules')) return `^${version}`;
  return `file:${relative(folder, ownFolder).split(sep).join('/')}`;
}

function fill(text: string, values: Record<string, string>): string {
  return text.replace(/__([A-Z]+)__/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/** `acme-notes` → `Acme Notes` */
function titleOf(name: string): string {
  const words = name.split('-').filter((word) => word !== '');
  return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join(' ');
}

/** Stands between quotes in JSON and in TypeScript. */
function sourceText(text: string): string {
  return text.replace(/["'`\\<>\p{C}]/gu, '').trim();
}
