import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';

export const projectFolder = fileURLToPath(new URL('../../', import.meta.url));

/** One import, export-from, `import()` or `import('…')` type of a file. */
export interface Import {
  /** Path of the file from the project's folder. */
  from: string;
  /** As it is written; `(computed)` when it is no constant. */
  specifier: string;
  /** For relative specifiers: the path from the project's folder. */
  target: string | undefined;
  /** Erased at run time. */
  typeOnly: boolean;
}

/** Files below the project's folder that match one of the globs, sorted. */
export function listFiles(...globs: string[]): string[] {
  return globSync(globs, { cwd: projectFolder, exclude: (name) => name === 'node_modules' })
    .map((path) => path.split('\\').join('/'))
    .toSorted();
}

export function readFile(path: string): string {
  return readFileSync(posix.join(projectFolder, path), 'utf8');
}

/** All imports of one TypeScript file, found in its syntax tree and so never in strings or comments. */
export function importsOf(path: string, text: string = readFile(path)): Import[] {
  const found: Import[] = [];
  // oxlint-disable-next-line typescript/no-deprecated -- the parser that Vitest passes on from Vite
  visit(parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }), (node) => {
    const specifier = specifierOf(node);
    if (specifier === undefined) return;
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined;
    found.push({ from: path, specifier, target, typeOnly: isTypeOnly(node) });
  });
  return found;
}

/** Every node of a file's syntax tree. */
export function nodesOf(path: string): Node[] {
  const nodes: Node[] = [];
  // oxlint-disable-next-line typescript/no-deprecated -- as above
  visit(parseAst(readFile(path), { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }), (node) => nodes.push(node));
  return nodes;
}

type Node = { type: string } & Record<string, unknown>;

function visit(value: unknown, look: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, look);
  else if (isNode(value)) {
    look(value);
    for (const child of Object.values(value)) visit(child, look);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Import and export declarations, `import()` expressions and types all keep it in `source`. */
function specifierOf(node: Node): string | undefined {
  if (!isNode(node['source']) || !/Import|Export/.test(node.type)) return undefined;
  const { value } = node['source'];
  return typeof value === 'string' ? value : '(computed)';
}

function isTypeOnly(node: Node): boolean {
  return node.type === 'TSImportType' || node['importKind'] === 'type' || node['exportKind'] === 'type';
}
