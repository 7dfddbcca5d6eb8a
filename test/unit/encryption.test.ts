import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createEncryption,
  keyIdOf,
  newEncryptionKey,
  encryptionKeyFile,
  ensureKeyFile,
  readKeyFile,
  writeKeyFile,
} from '../../src/base/encryption.ts';
import { createLogger, silentLogger } from '../../src/base/log.ts';

const mismatch = expect.objectContaining({ code: 'encryption_key_mismatch' });

describe('encryption', () => {
  const key = newEncryptionKey();
  const encryption = createEncryption([key]);

  test('gives back any text for its purpose', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, purpose) => {
        expect(encryption.open(encryption.seal(text, purpose), purpose)).toBe(text.toWellFormed());
      }),
    );
  });

  test('shows nothing of the text, and seals it differently each time', () => {
    const [first, second] = [encryption.seal('canary-text', 'a'), encryption.seal('canary-text', 'a')];
    expect(first).toMatch(/^v1\.[\w-]{12}\.[\w-]{16}\.[\w-]+$/);
    expect(first).not.toBe(second);
    expect(Buffer.from(first.split('.')[3]!, 'base64url').toString()).not.toContain('canary');
  });

  test('opens nothing for another purpose', () => {
    const sealed = encryption.seal('text', 'token of A');
    expect(() => encryption.open(sealed, 'token of B')).toThrow(mismatch);
  });

  test('opens nothing that was changed, in whatever place', () => {
    const sealed = encryption.seal('some text', 'a');
    const start = sealed.indexOf('.') + 1;
    for (let at = start; at < sealed.length; at++) {
      if (sealed[at] === '.') continue;
      const other = sealed[at] === 'A' ? 'B' : 'A';
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      // The last character of base64url may hold bits that stand for nothing.
      if (Buffer.from(changed.split('.')[3]!, 'base64url').equals(Buffer.from(sealed.split('.')[3]!, 'base64url'))) {
        if (changed.split('.').slice(0, 3).join() === sealed.split('.').slice(0, 3).join()) continue;
      }
      expect(() => encryption.open(changed, 'a'), changed).toThrow(mismatch);
    }
  });

  test.each(['', 'text', 'v1', 'v1.', 'v1.x.y', 'v2.a.b.c', `v1.${'x'.repeat(12)}..`])('refuses %j', (text) => {
    expect(() => encryption.open(text, 'a')).toThrow(mismatch);
  });

  test('opens with an older key, seals with the first', () => {
    const sealed = encryption.seal('text', 'a');
    const both = createEncryption([newEncryptionKey(), key]);
    expect(both.open(sealed, 'a')).toBe('text');
    expect(keyIdOf(both.seal('text', 'a'))).toBe(both.keyId);
    expect(both.keyIds).toEqual([both.keyId, encryption.keyId]);
    expect(() => createEncryption([newEncryptionKey()]).open(sealed, 'a')).toThrow(mismatch);
  });

  test('takes 32 bytes in each of their forms, and nothing else', () => {
    const bytes = Buffer.from(key, 'base64');
    const forms = [key, bytes.toString('base64url'), bytes.toString('hex'), bytes.toString('hex').toUpperCase()];
    expect(new Set(forms.map((form) => createEncryption([form]).keyId)).size).toBe(1);
    for (const wrong of ['', 'short', 'x'.repeat(42), 'y'.repeat(63), 'z'.repeat(64)]) {
      expect(() => createEncryption([wrong])).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    }
  });
});

describe('the key file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-key-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('is made once, for its owner alone', async () => {
    const dataDir = join(folder, 'new/data');
    const all = await Promise.all(Array.from({ length: 8 }, () => ensureKeyFile(dataDir, silentLogger)));
    expect(new Set(all.map(([key]) => key)).size).toBe(1);
    expect(all[0]).toHaveLength(1);
    expect(statSync(encryptionKeyFile(dataDir)).mode & 0o777).toBe(0o600);
    expect(readdirSync(dataDir)).toEqual(['encryption.key']);
    expect(createEncryption(all[0]!).keyIds).toHaveLength(1);
  });

  test('is replaced whole', async () => {
    await writeKeyFile(folder, ['new', 'old']);
    expect(readFileSync(encryptionKeyFile(folder), 'utf8')).toBe('new\nold\n');
    expect(await readKeyFile(folder, silentLogger)).toEqual(['new', 'old']);
    expect(statSync(encryptionKeyFile(folder)).mode & 0o777).toBe(0o600);
  });

  test('that others may read is reported, without the key', async () => {
    const lines: string[] = [];
    writeFileSync(encryptionKeyFile(folder), 'canary\n');
    chmodSync(encryptionKeyFile(folder), 0o644);
    await readKeyFile(folder, createLogger('warn', { write: (line) => void lines.push(line) }));
    expect(lines.join('')).toContain('may read the encryption key');
    expect(lines.join('')).not.toContain('canary');
  });
});
