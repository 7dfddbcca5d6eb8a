import Type from 'typebox';

/** Settings of reading text in images; without `url` no file is sent anywhere. */
export const ocr = Type.Object({
  url: Type.Optional(
    Type.String({
      description:
        'Server that reads the text in images and scanned PDF files: a file is posted to this address, and its text is the answer (docs/ocr.md).',
      absent: 'images and scans fail with a sentence that says so',
      pattern: '^https?://.+',
      expected: 'an address such as http://127.0.0.1:9998/ocr',
    }),
  ),
  apiKey: Type.Optional(
    Type.String({ description: 'Key for that server.', absent: 'none is sent', minLength: 1, secret: true }),
  ),
  concurrency: Type.Integer({ description: 'Files that are sent at once.', default: 2, minimum: 1, maximum: 64 }),
  timeoutMs: Type.Integer({
    description: 'How long the server may be silent over one file, in milliseconds.',
    default: 300_000,
    minimum: 100,
  }),
});
