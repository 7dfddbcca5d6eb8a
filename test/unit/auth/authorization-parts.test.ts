import { authorizationPage } from '../../../src/api/routes/authorizations.ts';
import { describe, expect, test } from 'vitest';
import { chooseAuth, storedAuth, secretValues, splitConfig, splitFields } from '../../../src/auth/fields.ts';
import { ConnectorError, type ConnectorSpec } from '../../../src/connector/contract.ts';
import { fillAddress } from '../../../src/auth/token-sources.ts';
import { refusalOf, renewTime } from '../../../src/auth/oauth-client.ts';
import { isAllowedRedirect, isTrustedRedirect, withParameters } from '../../../src/auth/redirects.ts';
import { createRedaction } from '../../../src/auth/redaction.ts';

const secret = { type: 'string', 'x-secret': true };
const spec: ConnectorSpec = {
  name: 'drive',
  version: '1.0.0',
  title: 'Drive',
  kind: 'drive',
  description: 'Files.',
  config: {
    type: 'object',
    properties: { folder: { type: 'string' }, pin: secret, password: { type: 'string' }, token: { 'x-secret': false } },
  },
  auth: [
    { type: 'apiKey', title: 'A', fields: { type: 'object', required: ['key'], properties: { key: secret } } },
    {
      type: 'apiKey',
      title: 'B',
      fields: { type: 'object', required: ['id', 'key'], properties: { id: {}, key: secret } },
    },
  ],
};

describe('fields that a caller gives', () => {
  test('is split by what becomes of it', () => {
    const given = {
      folder: 'f',
      pin: 'p',
      key: 'k',
      id: 'i',
      apiKey: 'a',
      accessKeyId: 'b',
      department: 'ops',
      token: 't',
    };
    expect(splitFields(spec, given)).toEqual({
      config: { folder: 'f', pin: 'p', token: 't' },
      authorization: { key: 'k', id: 'i' },
      unknownSecrets: { apiKey: 'a', accessKeyId: 'b' },
      metadata: { department: 'ops' },
    });
  });

  test('keeps secrets apart: marked ones, and names that always are unless the connector says no', () => {
    expect(splitConfig(spec, { folder: 'f', pin: 'p', password: 'w', token: 't' })).toEqual({
      open: { folder: 'f', token: 't' },
      secret: { pin: 'p', password: 'w' },
    });
    expect(secretValues(spec, { pin: 'p', id: 'i', key: 'k', unknown: 'u', count: 3 })).toEqual(['p', 'k', 'u']);
  });

  test('chooses the way to authorize', () => {
    expect(chooseAuth(spec, { key: 'k' })).toMatchObject({ by: 'fields', auth: { title: 'A' } });
    expect(() => chooseAuth(spec, { id: 'i' })).toThrow(expect.objectContaining({ code: 'validation_failed' }));
    expect(() => chooseAuth(spec, {})).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    expect(chooseAuth({ ...spec, auth: [] }, {})).toEqual({ by: 'nothing' });
    expect(storedAuth(spec, 'apiKey', { id: 'i', key: 'k' })).toMatchObject({ title: 'A' });
    expect(storedAuth(spec, 'basic', {})).toBeNull();
  });
});

describe('redirects', () => {
  test.each([
    ['https://app.example.com/a', [], true],
    ['ftp://app.example.com/a', [], false],
    ['javascript:alert(1)', [], false],
    ['nonsense', [], false],
    ['https://app.example.com', ['https://app.example.com'], true],
    ['https://app.example.com/any/where?x#y', ['https://app.example.com/'], true],
    ['https://app.example.com/done', ['https://app.example.com/done/'], true],
    ['https://app.example.com/donee', ['https://app.example.com/done'], false],
    ['https://app.example.com/done/../admin', ['https://app.example.com/done'], false],
    ['https://app.example.com:444/done', ['https://app.example.com'], false],
    ['https://APP.example.com/done', ['https://app.example.com'], true],
    ['https://user@app.example.com/', [], false],
    ['https://app.example.com\\@evil.example/', ['https://evil.example'], false],
  ] as const)('%s with %j: %s', (address, allowlist, allowed) => {
    expect(isAllowedRedirect(address, allowlist)).toBe(allowed);
  });

  test.each([
    ['http://127.0.0.1:9999/done', [], true],
    ['http://localhost/done', [], true],
    ['https://memory.example.com/console', [], true],
    ['https://app.example.com/a', [], false],
    ['http://localhost.evil.example/', [], false],
    ['https://app.example.com/a', ['https://app.example.com'], true],
    ['http://127.0.0.1:9999/done', ['https://app.example.com'], false],
  ] as const)('a browser is sent to %s with %j unasked: %s', (address, allowlist, trusted) => {
    expect(isTrustedRedirect(address, { allowlist, publicUrl: 'https://memory.example.com' })).toBe(trusted);
  });

  test('parameters are added to what is there', () => {
    expect(withParameters('https://a.example/x?a=1#f', { b: '2&3' })).toBe('https://a.example/x?a=1&b=2%263#f');
  });
});

describe('addresses of token endpoints', () => {
  test('take values, encoded or as they are', () => {
    expect(fillAddress('https://a.example/{x}/t', { x: 'a/b?c' })).toBe('https://a.example/a%2Fb%3Fc/t');
    expect(fillAddress('{+base}/t', { base: 'https://b.example/git/' })).toBe('https://b.example/git/t');
  });

  test.each([
    ['https://a.example/{x}', {}],
    ['{+base}/t', { base: 'file:///etc/passwd' }],
    ['{+base}/t', { base: 'https:///' }],
    ['{+base}/t', { base: 'localhost' }],
  ])('refuse %s with %j', (template, values) => {
    expect(() => fillAddress(template, values)).toThrow(expect.toSatisfy((error) => ConnectorError.is(error)));
  });
});

describe('answers of token endpoints', () => {
  test.each([
    [400, { error: 'invalid_grant' }, 'denied'],
    [200, { error: 'bad_refresh_token' }, 'denied'],
    [401, { error: 'invalid_client' }, 'client'],
    [401, undefined, 'client'],
    [400, { error: 'unauthorized_client' }, 'client'],
    [400, { error: { code: 3 } }, 'unavailable'],
    [429, undefined, 'unavailable'],
    [503, { error: 'temporarily_unavailable' }, 'unavailable'],
    [500, undefined, 'unclear'],
    [502, '<html>', 'unclear'],
  ])('%i with %j is %s', (status, body, reason) => {
    expect(refusalOf({ status, body }, 'a.example')).toMatchObject({ reason });
  });

  test('a token is none, and what is shown holds only a code', () => {
    expect(refusalOf({ status: 200, body: { access_token: 'x' } }, 'a.example')).toBeNull();
    const shown = refusalOf(
      { status: 400, body: { error: 'canary with words', error_description: 'canary' } },
      'a.example',
    );
    expect(shown!.message).toBe('a.example refused to issue a token: error.');
  });

  test('a token is renewed after four fifths of its life', () => {
    const now = new Date('2026-03-01T09:00:00.000Z');
    const token = { accessToken: 'x', refreshToken: null, clientId: null };
    const expiresAt = new Date('2026-03-01T10:00:00.000Z');
    expect(renewTime({ ...token, expiresAt }, now)).toEqual(new Date('2026-03-01T09:48:00.000Z'));
    expect(renewTime({ ...token, expiresAt: null }, now)).toBeNull();
  });
});

describe('redaction', () => {
  const redaction = createRedaction();
  redaction.add('pass/word+1');
  redaction.add('short');

  test('masks every form of a secret, in texts, values and errors', () => {
    const error = Object.assign(new Error('at pass/word+1', { cause: new Error('pass%2Fword%2B1') }), { name: 'Odd' });
    expect(redaction.value({ a: ['x pass/word+1 y'], b: 3, c: null, d: 'short' })).toEqual({
      a: ['x ******** y'],
      b: 3,
      c: null,
      d: 'short',
    });
    const shown = redaction.value(error);
    expect([shown.name, shown.message, (shown.cause as Error).message]).toEqual(['Odd', 'at ********', '********']);
    expect(shown.stack).not.toContain('pass/word+1');
    expect(redaction.finds({ deep: [{ text: 'pass/word+1' }] })).toBe(true);
  });

  test('leaves alone what shows none', () => {
    const error = new ConnectorError('transient', 'nothing here');
    expect(redaction.value(error)).toBe(error);
    expect(redaction.finds({ deep: 'nothing' })).toBe(false);
  });
});

test('the page at the end escapes what it is given', () => {
  const page = authorizationPage({ title: '<b>', text: `"'&<script>` });
  expect(page).toContain('<h1>&#60;b&#62;</h1>');
  expect(page).toContain('<p>&#34;&#39;&#38;&#60;script&#62;</p>');
});
