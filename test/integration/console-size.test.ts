import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { buildConsole } from '../support/browser.ts';

const built = join(import.meta.dirname, '../../console/dist');
const kilobyte = 1_000;

beforeAll(buildConsole, 120_000);

const sizeOf = (paths: readonly string[]) =>
  paths.reduce((bytes, path) => bytes + gzipSync(readFileSync(join(built, path))).length, 0) / kilobyte;

it('the console is small: what a browser loads first, and all of it', () => {
  const page = readFileSync(join(built, 'index.html'), 'utf8');
  const first = [...page.matchAll(/(?:src|href)="\.\/(console\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  const assets = readdirSync(join(built, 'console/assets')).map((name) => `console/assets/${name}`);
  expect(first.map((path) => path.split('.').at(-1))).toEqual(['js', 'css']);
  expect(first.filter((path) => !assets.includes(path))).toEqual([]);
  // A build for development has the name of a file for each element.
  for (const path of assets) expect(readFileSync(join(built, path), 'utf8')).not.toContain('.tsx');
  expect(sizeOf(['index.html', ...first])).toBeLessThan(120);
  expect(sizeOf(['index.html', ...assets])).toBeLessThan(300);
});
