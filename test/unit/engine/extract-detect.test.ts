import { describe, expect, it } from 'vitest';
import { makeDocx, makePdf, makeZip } from '../../../fixtures/make-documents.ts';
import { detect } from '../../../src/engine/extract/detect.ts';

const text = (content: string) => Buffer.from(content);
/** The container of old Office files, with a stream of this name. */
const ole = (stream: string) =>
  Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1000), Buffer.from(stream, 'utf16le')]);
const noise = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 151 + (index >> 2) * 7) % 256);

describe('the format of a file', () => {
  it.each([
    ['content before name', text('<!DOCTYPE html><title>502</title>'), undefined, 'report.pdf', { format: 'html' }],
    ['content before MIME type', makePdf('', [['x']]), 'text/plain', 'x.txt', { format: 'pdf' }],
    ['MIME type before name', text('a b'), 'text/markdown', 'x.csv', { format: 'markdown' }],
    ['name when the MIME type is general', text('# Hi'), 'text/plain', 'README.md', { format: 'markdown' }],
    ['name when the MIME type is for bytes', text('a: 1'), 'application/octet-stream', 'x.yaml', { language: 'yaml' }],
    ['name when the MIME type is for media', text('let a'), 'video/mp2t', 'a.ts', { language: 'typescript' }],
    [
      'name when the MIME type is for another program',
      text('a;b'),
      'application/vnd.ms-excel',
      'a.csv',
      { format: 'csv' },
    ],
    ['text when nothing tells', text('hello'), 'mimeType', 'unknown_file', { format: 'text' }],
    ['text that begins like a signature', text('BMW and MZ'), undefined, undefined, { format: 'text' }],
    ['a script by its first line', text('#!/usr/bin/env -S python3 -u\n'), undefined, 'run', { language: 'python' }],
    ['a file by its whole name', text('FROM node'), undefined, 'src/Dockerfile', { language: 'dockerfile' }],
    ['a notebook in JSON', text('{"cells":[{"cell_type":"code"}]}'), 'application/json', 'x', { format: 'notebook' }],
    ['a feed in XML', text('<?xml version="1.0"?><!-- <a> --><feed/>'), 'text/xml', undefined, { format: 'feed' }],
    ['other XML', text('<?xml version="1.0"?><project/>'), undefined, undefined, { format: 'xml' }],
    ['a drawing', text('<svg></svg>'), 'image/svg+xml', undefined, { format: 'svg' }],
    [
      'a mail without a name',
      text('From: a@b\nTo: c@d\nSubject: e\n f\n\nhi'),
      undefined,
      '1712.M1',
      { format: 'email' },
    ],
    ['a text with one colon line', text('Date: today\n\nhi'), undefined, undefined, { format: 'text' }],
    [
      'UTF-16 although it has NUL bytes',
      Buffer.from('a text in it', 'utf16le'),
      undefined,
      'a.txt',
      { format: 'text' },
    ],
    ['a gzip file', Buffer.from('1f8b0800', 'hex'), undefined, 'a', { format: 'gzip' }],
    ['a ZIP archive', makeZip([['a.txt', 'x']]), undefined, 'a.zip', { format: 'zip' }],
    ['an Outlook message', ole('__substg1.0_0037001F'), undefined, 'a', { format: 'outlook' }],
    ['rich text', text('{\\rtf1\\ansi hello}'), undefined, 'a', { format: 'rich-text' }],
    ['a workbook by its parts', makeZip([['xl/workbook.xml', '']]), undefined, 'a.zip', { format: 'xlsx' }],
    ['a presentation by its parts', makeZip([['ppt/presentation.xml', '']]), undefined, 'a', { format: 'pptx' }],
    ['a book by its parts', makeZip([['META-INF/container.xml', '']]), undefined, 'a', { format: 'epub' }],
    ['an OpenDocument text', makeZip([['content.xml', '']]), undefined, 'a.odt', { format: 'opendocument' }],
    ['a Word document by its parts', makeDocx([['', 'x']]), 'application/zip', 'x.zip', { format: 'docx' }],
    [
      'a PDF file behind other bytes',
      Buffer.concat([noise(90), makePdf('', [])]),
      undefined,
      'x.pdf',
      { format: 'pdf' },
    ],
    ['columns by the name', text('a\tb'), undefined, 'x.TSV', { format: 'csv', delimiter: '\t' }],
    [
      'the character set of the MIME type',
      text('a'),
      'text/csv; charset="cp932"',
      'x',
      { format: 'csv', charset: 'cp932' },
    ],
  ])('%s', (_, bytes, mimeType, name, expected) => {
    expect(detect(bytes, mimeType, name)).toMatchObject(expected);
  });

  it.each([
    ['binary data that is called text', noise(500), 'notes.md', 'unsupported_type', 'binary data of an unknown kind'],
    [
      'noise with a NUL',
      Buffer.from(`caf\xe9 \0 ${'x'.repeat(99)}`, 'latin1'),
      'a.txt',
      'unsupported_type',
      'binary data',
    ],
    ['few bytes of noise', Uint8Array.of(1, 2, 3, 200), 'a.txt', 'unsupported_type', 'binary data'],
    [
      'a JPEG image that is called text',
      Buffer.from('ffd8ffe000104a464946', 'hex'),
      'a.txt',
      'unsupported_type',
      'JPEG image',
    ],
    ['a recording', Buffer.from('ID3\x04\0\0\0'), 'a.mp3', 'unsupported_type', 'transcribing recordings'],
    ['a video', Buffer.from('\0\0\0\x20ftypisom'), 'a.mp4', 'unsupported_type', 'MP4 video'],
    ['an old Word document', ole('WordDocument'), 'a.doc', 'unsupported_type', 'save it as .docx'],
    ['an encrypted Word document', ole('EncryptedPackage'), 'a.docx', 'extract_failed', 'protected by a password'],
    ['a program', Buffer.from('7f454c4602010100', 'hex'), 'a', 'unsupported_type', 'compiled program'],
    ['text that is called PDF', text('just text'), 'a.pdf', 'extract_failed', 'its content is something else'],
    ['noise that is called a workbook', noise(500), 'a.xlsx', 'extract_failed', 'its content is something else'],
    ['noise that is called Word', noise(500), 'a.docx', 'extract_failed', 'its content is something else'],
    [
      'half a Word document',
      makeDocx([['', 'x']]).subarray(0, 700),
      'a.docx',
      'extract_failed',
      'ZIP directory is missing',
    ],
  ])('refuses %s', (_, bytes, name, code, reason) => {
    const message = expect.stringContaining(reason) as string;
    expect(() => detect(bytes, undefined, name)).toThrow(
      expect.objectContaining({ code, message, shouldRetry: false }),
    );
  });
});
