import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { circlesOf } from '../../scripts/house/circles.ts';
import { allowed, unitOf } from './import-table.ts';
import { importsOf, listFiles, projectFolder, type Import } from '../support/imports-of.ts';

/** Parts of connectors that others build on. */
const foundations: Readonly<Record<string, readonly string[]>> = {
  'connectors/gmail': ['connectors/google', 'connectors/imap'],
  'connectors/google-drive': ['connectors/google'],
};

/** Why an import is not allowed; undefined when it is. */
function judge({ from, target, typeOnly }: Import): string | undefined {
  if (target === undefined) return undefined;
  const fromUnit = unitOf(from);
  const toUnit = unitOf(target);
  if (!fromUnit || !toUnit) return `${from} imports ${target}: no unit is known for one of them`;
  if (fromUnit === 'connectors' && folderOf(from) === folderOf(target)) return undefined;
  if (foundations[folderOf(from)]?.includes(folderOf(target))) return undefined;
  if (fromUnit === toUnit && fromUnit !== 'connectors') return undefined;
  const permission = allowed[fromUnit][toUnit];
  if (permission === 'everything' || (permission === 'types' && typeOnly)) return undefined;
  return `${from} (${fromUnit}) imports ${target} (${toUnit})${permission ? ', of which it may only import types' : ''}`;
}

/** The first two parts: `src/store`, `connectors/folder`. */
function folderOf(path: string): string {
  return path.split('/').slice(0, 2).join('/');
}

/** The folders on a cycle of imports, in order; empty when there is none. The contract counts on its own. */
function findCycle(imports: readonly Import[]): string[] {
  const edges = new Map<string, Set<string>>();
  const nodeOf = (path: string) => (unitOf(path) === 'contract' ? 'contract' : folderOf(path));
  for (const { from, target } of imports) {
    if (target === undefined || nodeOf(from) === nodeOf(target)) continue;
    edges.set(nodeOf(from), (edges.get(nodeOf(from)) ?? new Set()).add(nodeOf(target)));
  }
  const finished = new Set<string>();
  const search = (node: string, path: string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (finished.has(node)) return [];
    for (const next of edges.get(node) ?? []) {
      const cycle = search(next, [...path, node]);
      if (cycle.length > 0) return cycle;
    }
    finished.add(node);
    return [];
  };
  for (const node of edges.keys()) {
    const cycle = search(node, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

const files = listFiles('src/**/*.ts', 'connectors/**/*.ts');
const imports = files.flatMap((file) => importsOf(file));
const relative = imports.filter((each) => each.target !== undefined);

const an = (from: string, target: string, typeOnly = false): Import => ({ from, specifier: target, target, typeOnly });

describe('imports', () => {
  it('are looked at in every file', () => {
    expect(files.length).toBeGreaterThan(150);
    expect(relative.length).toBeGreaterThan(500);
    const names = ['base', 'contract', 'store', 'queue', 'models', 'engine', 'search', 'sync', 'api', 'cli', 'mcp'];
    for (const unit of names) expect(files.map(unitOf), unit).toContain(unit);
    expect(files.filter((file) => unitOf(file) === undefined)).toEqual([]);
    expect(
      files.filter((file) => file !== 'src/connector/contract.ts' && importsOf(file).length > 0).length,
    ).toBeGreaterThan(120);
  });

  it('make no circle of files, types included', () => {
    const arrows = relative.flatMap(({ from, target }) => (target === undefined ? [] : [{ from, to: target }]));
    expect(circlesOf(arrows)).toEqual([]);
    expect(
      circlesOf([an('a', 'b', true), an('b', 'a')].map(({ from, target }) => ({ from, to: target ?? '' }))),
    ).toEqual([['a', 'b']]);
  });

  it('are of other files: what is imported late for a quick start stands in a file of its own', () => {
    expect(relative.filter(({ from, target }) => from === target)).toEqual([]);
  });

  it('are found in all their forms, and nowhere else', () => {
    const text = `
      import a, { type B } from './a.ts';
      import type { C } from './c.ts';
      import './d.ts';
      export { e } from './e.ts';
      export type { F } from './f.ts';
      const g = await import('../g.ts');
      type H = typeof import('./h.ts');
      const no = "import './no.ts'"; // import './no.ts'
      /* export * from './no.ts' */
      const never = \`import('./no.ts')\`;`;
    expect(importsOf('src/x/y.ts', text).map(({ target, typeOnly }) => [target, typeOnly])).toEqual([
      ['src/x/a.ts', false],
      ['src/x/c.ts', true],
      ['src/x/d.ts', false],
      ['src/x/e.ts', false],
      ['src/x/f.ts', true],
      ['src/g.ts', false],
      ['src/x/h.ts', true],
    ]);
  });

  it('lead to files that exist, with their ending', () => {
    const broken = relative.filter(
      ({ target }) => !existsSync(join(projectFolder, target!)) || !/\.(ts|json)$/.test(target!),
    );
    expect(broken).toEqual([]);
  });

  it('go only where the table allows', () => {
    expect(imports.map(judge).filter((reason) => reason !== undefined)).toEqual([]);
  });

  it('would be refused where the table says so', () => {
    const forbidden = [
      an('src/base/ids.ts', 'src/store/sql.ts'),
      an('src/connector/contract.ts', 'src/base/clock.ts', true),
      an('src/engine/process.ts', 'src/sync/runner.ts'),
      an('src/engine/process.ts', 'src/connector/contract.ts'),
      an('src/engine/process.ts', 'src/queue/bullmq.ts'),
      an('src/search/search.ts', 'src/store/pglite/open-pglite.ts'),
      an('src/store/documents.ts', 'src/store/postgres.ts'),
      an('src/api/routes/documents.ts', 'src/store/documents.ts'),
      an('src/cli/add.ts', 'src/app.ts'),
      an('src/api/create-api.ts', 'src/mcp/server.ts'),
      an('src/mcp/tools/memories.ts', 'src/store/memories.ts'),
      an('connectors/folder/index.ts', 'src/connector/contract.ts', true),
      an('connectors/folder/index.ts', 'connectors/github/index.ts'),
      an('connectors/imap/index.ts', 'connectors/gmail/index.ts'),
      an('src/elsewhere/file.ts', 'src/base/ids.ts'),
      an('console/src/main.tsx', 'src/api/request.ts', true),
      an('src/api/console-page.ts', 'console/src/main.tsx'),
    ];
    for (const each of forbidden) expect(judge(each), `${each.from} → ${each.target}`).toBeDefined();
    const fine = [
      an('src/app.ts', 'src/store/postgres.ts'),
      an('src/app.ts', 'connectors/folder/index.ts'),
      an('src/engine/document.ts', 'src/connector/contract.ts', true),
      an('connectors/folder/index.ts', 'connectors/folder/walk.ts'),
      an('connectors/gmail/index.ts', 'connectors/google/oauth.ts'),
    ];
    for (const each of fine) expect(judge(each), `${each.from} → ${each.target}`).toBeUndefined();
  });

  it('of the console are its own files and the packages that are built into the page', () => {
    const ofConsole = listFiles('console/src/**/*.{ts,tsx}').flatMap((file) => importsOf(file));
    expect(ofConsole.length).toBeGreaterThan(1);
    expect(ofConsole.map(judge).filter((reason) => reason !== undefined)).toEqual([]);
    const packages = ofConsole
      .filter(({ target }) => target === undefined)
      .map(({ specifier }) => packageOf(specifier));
    for (const name of packages) expect(['preact', '@preact/signals', 'uplot']).toContain(name);
  });

  it('make no cycle between folders', () => {
    expect(findCycle(imports)).toEqual([]);
    const a = an('src/engine/a.ts', 'src/search/a.ts');
    expect(findCycle([a, an('src/search/b.ts', 'src/store/b.ts'), an('src/store/c.ts', 'src/engine/c.ts')])).toEqual([
      'src/engine',
      'src/search',
      'src/store',
      'src/engine',
    ]);
  });

  it('are computed only where connectors of others are loaded', () => {
    const computed = imports.filter(({ specifier }) => specifier === '(computed)').map(({ from }) => from);
    expect(computed).toEqual(['src/connector/plugins.ts']);
  });

  it('of the contract are none', () => {
    expect(importsOf('src/connector/contract.ts')).toEqual([]);
  });

  it('of connectors are their own files, the contract, and packages', () => {
    const ofConnectors = imports.filter(({ from }) => from.startsWith('connectors/'));
    expect(ofConnectors.length).toBeGreaterThan(20);
    expect(ofConnectors.filter(({ specifier }) => specifier === 'memoryd/connector').length).toBeGreaterThan(3);
    const others = ofConnectors.filter(
      ({ specifier, target }) => target === undefined && specifier !== 'memoryd/connector',
    );
    expect(others.filter(({ specifier }) => specifier.startsWith('memoryd'))).toEqual([]);
  });

  it('of packages are of those that are installed with memoryd', () => {
    const installed = new Set([
      ...Object.keys(packageJson.dependencies),
      ...Object.keys(packageJson.optionalDependencies),
      packageJson.name,
    ]);
    const outside = imports.filter(
      ({ specifier, target }) => target === undefined && !isBuiltin(specifier) && specifier !== '(computed)',
    );
    expect(outside.length).toBeGreaterThan(20);
    expect(outside.filter(({ specifier, typeOnly }) => !typeOnly && !installed.has(packageOf(specifier)))).toEqual([]);
    const unprefixed = imports.filter(({ specifier }) => isBuiltin(specifier) && !specifier.startsWith('node:'));
    expect(unprefixed).toEqual([]);
  });
});

function packageOf(specifier: string): string {
  const [scope, name] = specifier.split('/');
  return specifier.startsWith('@') ? `${scope}/${name}` : scope!;
}
