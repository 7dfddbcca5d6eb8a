import type { Daemon } from './daemon.ts';

/** A call to the daemon's API; throws for an answer that is not 2xx. */
export async function call<Body = any>(daemon: Daemon, method: string, path: string, body?: unknown): Promise<Body> {
  const response = await fetch(new URL(path, daemon.url), {
    method,
    headers: {
      authorization: `Bearer ${daemon.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as Body;
}

export interface StoredFile {
  id: string;
  filepath: string;
  content: string;
  status: string;
}

/** Every document that came from a folder, by its path. */
export async function storedFiles(daemon: Daemon): Promise<Map<string, StoredFile>> {
  const files = new Map<string, StoredFile>();
  for (let page = 1; ; page++) {
    const answer = await call(daemon, 'POST', '/v3/documents/list', { page, limit: 500, includeContent: true });
    for (const one of answer.memories as StoredFile[]) {
      if (files.has(one.filepath)) throw new Error(`${one.filepath} is stored twice`);
      files.set(one.filepath, one);
    }
    if (page >= answer.pagination.totalPages) return files;
  }
}

/** Text of each stored file by path. */
export async function storedTexts(daemon: Daemon): Promise<Map<string, string>> {
  return new Map([...(await storedFiles(daemon))].map(([path, file]) => [path, file.content]));
}

/** The texts that a search finds, best first. */
export async function found(
  daemon: Daemon,
  q: string,
): Promise<{ chunk: string; filepath: string; similarity: number }[]> {
  const answer = await call(daemon, 'POST', '/v4/search', { q, searchMode: 'documents', threshold: 0, limit: 20 });
  return answer.results;
}
