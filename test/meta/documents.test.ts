import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtInNames } from '../../src/connector/registry.ts';
import { listFiles, projectFolder, readFile } from '../support/imports-of.ts';

const documents = listFiles('*.md', 'docs/**/*.md', 'connectors/**/*.md');

interface Link {
  from: string;
  target: string;
  anchor: string | undefined;
}

/** Links to files of this repository. Code is no text, so links in it do not count. */
function linksOf(path: string): Link[] {
  const text = readFile(path)
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, 'code');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((address) => !/^[a-z]+:/.test(address))
    .map((address) => {
      const [file, anchor] = address.split('#');
      return { from: path, target: file === '' ? path : posix.join(posix.dirname(path), file!), anchor };
    });
}

/** The anchors that GitHub makes of a document's headings. */
function anchorsOf(path: string): string[] {
  const headings = [...readFile(path).matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Whether a file has a function, a method or a value of that name. */
function defines(text: string, name: string): boolean {
  return new RegExp(`(?:function\\*?|const) ${name}\\b|^ +(?:async )?${name}\\(.*\\{$`, 'm').test(text);
}

describe('documents', () => {
  const links = documents.flatMap(linksOf);

  it('are there', () => {
    for (const path of ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs/architecture.md', 'docs/production.md']) {
      expect(documents).toContain(path);
    }
    expect(links.length).toBeGreaterThan(20);
  });

  it('link to files that exist', () => {
    expect(links.filter(({ target }) => !existsSync(posix.join(projectFolder, target)))).toEqual([]);
  });

  it('link to headings that exist', () => {
    const anchored = links.filter(({ anchor, target }) => anchor !== undefined && target.endsWith('.md'));
    expect(anchored.length).toBeGreaterThan(0);
    expect(anchored.filter(({ anchor, target }) => !anchorsOf(target).includes(anchor!))).toEqual([]);
  });

  it('have one line below the head of a table', () => {
    const doubled = documents.filter((path) => /^(\|[ |:-]+\|)\n\|[ |:-]+\|$/m.test(readFile(path)));
    expect(doubled).toEqual([]);
  });

  it('link functions to the files that define them', () => {
    const named = documents.flatMap((from) =>
      [...readFile(from).matchAll(/\[`(\w+)`\]\(([^)\s]+\.ts)\)/g)].map(([, name, target]) => ({
        from,
        name: name!,
        target: posix.join(posix.dirname(from), target!),
      })),
    );
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter(({ name, target }) => !defines(readFile(target), name))).toEqual([]);
  });

  it.each(['docs/search.md', 'docs/testing.md'])('%s names files that exist', (page) => {
    const paths = [...readFile(page).matchAll(/`((?:src|test|fixtures|scripts)(?:\/[\w.-]+)+)`/g)].map(
      ([, path]) => path!,
    );
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.filter((path) => !existsSync(posix.join(projectFolder, path)))).toEqual([]);
  });

  it('describe each state of the life of an item that its diagram shows', () => {
    const page = readFile('docs/sync-lifecycle.md');
    const [, diagram] = /stateDiagram-v2\n([\s\S]*?)```/.exec(page)!;
    const drawn = [...diagram!.matchAll(/[A-Z][A-Za-z]+(?= -->)|(?<=--> )[A-Z][A-Za-z]+/g)].map(([state]) => state);
    const described = [...page.matchAll(/^\| ([A-Z][a-z ]+?) +\| (?!In the ledger)/gm)].map(([, state]) =>
      state!.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase()),
    );
    // A retry is an arrow of the diagram.
    expect(new Set([...drawn, 'Retried'])).toEqual(new Set(described));
    expect(drawn.length).toBeGreaterThan(10);
  });

  it('name no connector that does not exist', () => {
    const named = [...documents, ...listFiles('src/cli/**/*.ts')].flatMap((path) =>
      [...readFile(path).matchAll(/\bmemoryd (?:connect|sync) ([a-z][a-z0-9-]+)/g)].map((match) => match[1]!),
    );
    expect(named.length).toBeGreaterThan(10);
    // The example of the page on writing one.
    const known: string[] = [...builtInNames, 'acme-notes'];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('list every decision once, under its number', () => {
    const decisions = listFiles('docs/decisions/0*.md').map((path) => posix.basename(path));
    expect(decisions.length).toBeGreaterThan(6);
    const listed = linksOf('docs/decisions/README.md').map(({ target }) => posix.basename(target));
    expect(listed).toEqual(decisions);
    expect(new Set(decisions.map((name) => name.slice(0, 4))).size).toBe(decisions.length);
    for (const name of decisions) expect(readFile(`docs/decisions/${name}`)).toMatch(`# ${name.slice(0, 4)}: `);
  });

  it('have a page for each connector', () => {
    const connectors = listFiles('connectors/*/index.ts').map((path) => posix.dirname(path));
    expect(connectors.length).toBeGreaterThan(0);
    for (const connector of connectors) {
      expect(documents, connector).toContain(`${connector}/README.md`);
      expect(readFile('README.md'), connector).toContain(`(${connector}/README.md)`);
    }
  });
});
