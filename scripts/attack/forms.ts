/** A value as a form, its field `file` as the file. */
export function asForm(value: unknown): { body: string; headers: Record<string, string> } {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [['file', String(value)]];
  const parts = fields.map(([name, part]) => {
    const disposition =
      name === 'file' ? 'name="file"; filename="a.txt"' : `name="${String(name).replaceAll(/["\r\n]/g, '')}"`;
    const text = typeof part === 'string' ? part : (JSON.stringify(part) ?? '');
    return `--edge\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`;
  });
  return { body: `${parts.join('')}--edge--\r\n`, headers: { 'content-type': 'multipart/form-data; boundary=edge' } };
}

/** A form with the bytes as its file. */
export function fileForm(name: string, bytes: Buffer, type: string, containerTag: string) {
  const head = `--edge\r\ncontent-disposition: form-data; name="containerTag"\r\n\r\n${containerTag}\r\n--edge\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: ${type}\r\n\r\n`;
  return {
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--edge--\r\n')]),
    headers: { 'content-type': 'multipart/form-data; boundary=edge' },
  };
}
