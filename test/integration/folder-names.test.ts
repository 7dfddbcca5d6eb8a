import fc from 'fast-check';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { relativePath, toFilePath, toFileUrl, toRaw, toText } from '../../connectors/folder/names.ts';

/** File names as bytes: random ones, valid UTF-8, cut UTF-8, and the characters that escapes are made of. */
const rawName = fc
  .oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    fc.string({ unit: 'binary', minLength: 1 }).map((text) => Buffer.from(text)),
    fc.string({ unit: 'binary', minLength: 1 }).map((text) => Buffer.from(text).subarray(0, -1)),
    fc
      .array(fc.integer({ min: 0xf700, max: 0xf7ff }), { maxLength: 4 })
      .map((codes) => Buffer.from(String.fromCharCode(...codes))),
  )
  .map((bytes) => Buffer.from(bytes).toString('latin1').replaceAll('\0', 'x'));

it('turns every name into one text that can be stored, and back', () => {
  fc.assert(
    fc.property(rawName, (raw) => {
      const text = toText(raw);
      expect(text.isWellFormed()).toBe(true);
      expect(toRaw(text)).toBe(raw);
      expect(Buffer.from(toFilePath(text)).toString('latin1')).toBe(raw);
    }),
    { numRuns: 2_000 },
  );
});

it('leaves valid names as they are', () => {
  for (const name of ['plan.md', 'über 😀.md', '\ufeffbom', '\ufffd', 'e\u0301']) {
    expect(toText(Buffer.from(name).toString('latin1'))).toBe(name);
  }
});

it('writes URLs that Node reads back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      const path = `/folder/${name.replaceAll(/[/\0]/g, '')}x`;
      expect(fileURLToPath(toFileUrl(path))).toBe(path);
    }),
  );
  expect(toFileUrl('/a b/ü.md')).toBe(pathToFileURL('/a b/ü.md').href);
  expect(toFileUrl('C:/a.md')).toBe('file:///C:/a.md');
  expect(toFileUrl('//server/share/a.md')).toBe('file://server/share/a.md');
  expect(toFileUrl(`/${toText('a\xff')}`)).toBe('file:///a%FF');
});

it('finds the path below a root, and nothing that is not clean', () => {
  expect(relativePath('/r', '/r')).toBe('');
  expect(relativePath('/r', '/r/a/b')).toBe('a/b');
  expect(relativePath('/', '/a')).toBe('a');
  for (const path of ['/rx', '/r/../x', '/r/a/../b', '/r/./a', '/r//a', '/r/', 'r/a', '']) {
    expect(relativePath('/r', path), path).toBeUndefined();
  }
});
