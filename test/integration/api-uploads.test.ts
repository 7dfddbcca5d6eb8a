import { readdir, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullKey, startTestApi, type TestApi } from '../support/api.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const maxFileBytes = 2 * 1024 * 1024;

describe('uploads', () => {
  let test: TestApi;
  let folder: string;
  let port: number;
  beforeAll(async () => {
    folder = await temporaryFolder();
    const limits = { maxTextBytes: 1_000, maxBodyBytes: 1_000, maxBatchBodyBytes: 1_000, maxFileBytes };
    test = await startTestApi({ config: { uploadFolder: folder, limits } });
    await test.api.listen({ host: '127.0.0.1', port: 0 });
    port = (test.api.server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await test.close();
    await rm(folder, { recursive: true });
  });

  const opening = (name: string) =>
    `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: text/plain\r\n\r\n`;
  const end = '\r\n--b--\r\n';

  /** A request whose body is written bit by bit, without a length. */
  function begin() {
    const request = httpRequest({
      port,
      path: '/v3/documents/file',
      method: 'POST',
      headers: { authorization: `Bearer ${fullKey}`, 'content-type': 'multipart/form-data; boundary=b' },
    });
    const answer = new Promise<{ status: number; body: { id: string; error?: string } }>((resolve, reject) => {
      request.on('error', reject);
      request.on('response', (response) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) }));
      });
    });
    return { request, answer };
  }

  it('that are sent again under their key are the same in whatever boundary, and others are not', async () => {
    const send = async (boundary: string, text: string) => {
      const response = await test.api.inject({
        method: 'POST',
        url: '/v3/documents/file',
        headers: {
          authorization: `Bearer ${fullKey}`,
          'content-type': `multipart/form-data; boundary="${boundary}"`,
          'idempotency-key': 'one upload',
        },
        payload: `${opening('a.txt')}${text}${end}`.replaceAll('--b', `--${boundary}`),
      });
      return { status: response.statusCode, id: response.json().id as string };
    };
    const first = await send('first boundary', 'text of an upload');
    expect(first.status).toBe(200);
    expect(await send('----WebKitFormBoundary7MA4', 'text of an upload')).toEqual(first);
    expect(await send('first boundary', 'text of another')).toMatchObject({ status: 409 });
  });

  it('that come slowly and side by side are all stored, and leave nothing on the disk', async () => {
    const uploads = Array.from({ length: 8 }, begin);
    for (const [index, { request }] of uploads.entries()) request.write(opening(`${index}.txt`));
    for (const [index, { request }] of uploads.entries()) request.end(`text of file ${index}${end}`);
    const answers = await Promise.all(uploads.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status)).toEqual(uploads.map(() => 200));
    await test.process();
    for (const [index, { body }] of answers.entries()) {
      const document = await test.call('GET', `/v3/documents/${body.id}`);
      expect(document.body).toMatchObject({ status: 'done', content: `text of file ${index}` });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it('that are too large are answered without their end', async () => {
    const { request, answer } = begin();
    request.write(opening('endless.txt'));
    const block = Buffer.alloc(256 * 1024, 'x');
    for (let sent = 0; sent <= maxFileBytes + 2 * 1024 * 1024; sent += block.length) request.write(block);
    expect(await answer).toMatchObject({ status: 413, body: { error: expect.stringContaining('larger than') } });
    request.destroy();
    expect(await readdir(folder)).toEqual([]);
  });

  it('that break off do no harm', async () => {
    const { request, answer } = begin();
    request.write(opening('broken.txt'));
    request.destroy();
    await expect(answer).rejects.toThrow();
    const next = begin();
    next.request.end(`${opening('next.txt')}next${end}`);
    expect((await next.answer).status).toBe(200);
  });
});
