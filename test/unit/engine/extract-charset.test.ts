import { describe, expect, it } from 'vitest';
import { declaredCharset, decodeText, decoderOfCodePage } from '../../../src/engine/extract/charset.ts';

const samples: [charset: string, text: string, hex: string][] = [
  [
    'shift_jis',
    '明日の会議は十時からです。カタカナもあります。',
    '96be93fa82cc89ef8b6382cd8f5c8e9e82a982e782c582b78142834a835e834a836982e082a082e882dc82b78142',
  ],
  [
    'euc-jp',
    '明日の会議は十時からです。カタカナもあります。',
    'ccc0c6fca4ceb2f1b5c4a4cfbdbdbbfea4aba4e9a4c7a4b9a1a3a5aba5bfa5aba5caa4e2a4a2a4eaa4dea4b9a1a3',
  ],
  [
    'gb18030',
    '明天的会议十点开始，请大家准时参加。这是中文文本。',
    'c3f7ccecb5c4bbe1d2e9caaeb5e3bfaacabca3acc7ebb4f3bcd2d7bccab1b2cebcd3a1a3d5e2cac7d6d0cec4cec4b1bea1a3',
  ],
  [
    'big5',
    '明天的會議十點開始，請大家準時參加。這是中文文本。',
    'a9faa4d1aabab77cc4b3a451c249b67da96ca141bdd0a46aae61b7c7aec9b0d1a55ba143b36fac4fa4a4a4e5a4e5a5bba143',
  ],
  [
    'euc-kr',
    '내일 회의는 열 시에 시작합니다. 모두 참석해 주세요.',
    'b3bbc0cf20c8b8c0c7b4c220bfad20bdc3bfa120bdc3c0dbc7d5b4cfb4d92e20b8f0b5ce20c2fcbcaec7d820c1d6bcbcbfe42e',
  ],
  [
    'windows-1251',
    'Завтра совещание начнётся в десять часов.',
    'c7e0e2f2f0e020f1eee2e5f9e0ede8e520ede0f7edb8f2f1ff20e220e4e5f1fff2fc20f7e0f1eee22e',
  ],
  [
    'koi8-r',
    'Завтра совещание начнётся в десять часов.',
    'fac1d7d4d2c120d3cfd7c5ddc1cec9c520cec1decea3d4d3d120d720c4c5d3d1d4d820dec1d3cfd72e',
  ],
  [
    'windows-1252',
    'Café “Größe” kostet 5 € – für Gäste',
    '436166e920934772f6df6594206b6f737465742035208020962066fc722047e4737465',
  ],
];

describe('character sets', () => {
  it.each(samples)('guesses %s and says so', (charset, text, hex) => {
    expect(decodeText(Buffer.from(hex, 'hex'))).toEqual({
      text,
      charset,
      degraded: `The character set is not declared; read as ${charset}.`,
    });
  });

  it('reads characters whose halves are encoded one by one, and replaces a half alone', () => {
    const [high, low] = ['eda0bd', 'edb880'];
    const bytes = (middle: string) => Buffer.from(`${Buffer.from('Café ').toString('hex')}${middle}21`, 'hex');
    expect(decodeText(bytes(high + low))).toEqual({ text: 'Café 😀!', charset: 'utf-8' });
    const degraded = 'Some bytes are not valid UTF-8 and were replaced.';
    expect(decodeText(bytes(low + high))).toEqual({ text: 'Café \ufffd\ufffd!', charset: 'utf-8', degraded });
  });

  it.each(samples)('takes the declared %s for sure', (charset, text, hex) => {
    expect(decodeText(Buffer.from(hex, 'hex'), charset.toUpperCase())).toEqual({ text, charset });
  });

  it('knows names that the Encoding Standard does not list', () => {
    expect(decodeText(Buffer.from('96bc914f', 'hex'), 'cp932')).toEqual({ text: '名前', charset: 'shift_jis' });
  });

  it('takes valid UTF-8 for UTF-8 whatever was declared', () => {
    expect(decodeText(Buffer.from('Größe'), 'iso-8859-1')).toEqual({ text: 'Größe', charset: 'utf-8' });
  });

  it('reads ISO-2022-JP, which looks like ASCII, when it is declared', () => {
    const bytes = Buffer.from('1b24424c40467c1b2842', 'hex');
    expect(decodeText(bytes, 'ISO-2022-JP').text).toBe('明日');
  });

  it('ignores a declared name that does not exist', () => {
    expect(decodeText(Buffer.from('436166e9', 'hex'), 'no-such-set')).toMatchObject({
      text: 'Café',
      charset: 'windows-1252',
    });
  });

  it('replaces a few damaged bytes of UTF-8 instead of misreading all of it', () => {
    const bytes = Buffer.concat([
      Buffer.from('Ärger mit Öl über Übermut: ä ö ü'),
      Buffer.from([0xff]),
      Buffer.from(' Ende'),
    ]);
    const { text, charset, degraded } = decodeText(bytes);
    expect(text).toBe('Ärger mit Öl über Übermut: ä ö ü\ufffd Ende');
    expect(charset).toBe('utf-8');
    expect(degraded).toContain('not valid UTF-8');
  });

  it.each([
    ['utf-16le', Buffer.from('\ufeffÜberweisung bis März', 'utf16le')],
    ['utf-16le', Buffer.from('Überweisung bis März', 'utf16le')],
    ['utf-16be', Buffer.from('\ufeffÜberweisung bis März', 'utf16le').swap16()],
    ['utf-16be', Buffer.from('Überweisung bis März', 'utf16le').swap16()],
    ['utf-8', Buffer.from('\ufeffÜberweisung bis März')],
  ])('reads %s with and without its mark', (charset, bytes) => {
    expect(decodeText(bytes)).toEqual({ text: 'Überweisung bis März', charset });
  });

  it('finds what a page or an XML file declares', () => {
    expect(declaredCharset(Buffer.from('<html><head><META http-equiv=x content="text/html; charset=Shift_JIS">'))).toBe(
      'Shift_JIS',
    );
    expect(declaredCharset(Buffer.from(`<meta charset='euc-kr'>`))).toBe('euc-kr');
    expect(declaredCharset(Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?>'))).toBe('ISO-8859-1');
    expect(declaredCharset(Buffer.from('<p>charset=latin1'))).toBeUndefined();
  });
});

describe('a code page', () => {
  it.each([
    [932, [0x8a, 0x43], '海'],
    [1251, [0xe4, 0xe0], 'да'],
    [65_001, [0xc3, 0xbc], 'ü'],
    [99_999, [0xfc], 'ü'],
  ])('%d is read by its number', (number, bytes, text) => {
    expect(decoderOfCodePage(number).decode(Uint8Array.from(bytes))).toBe(text);
  });
});
