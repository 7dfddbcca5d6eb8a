import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, sep } from 'node:path';

export interface HubRequest {
  method: string;
  path: string;
  range: string | undefined;
}

/** What a hub may do wrong, by the path of a file in its repository. */
export interface HubFaults {
  /** Ends the connection after so many bytes of a file, once, and not before the promise resolves. */
  breaksAfter: Map<string, { bytes: number; when: Promise<unknown> }>;
  /** Sends other bytes than those that it states the hash of. */
  lies: Map<string, Uint8Array>;
  /** Answers every request with this status. */
  status: number | null;
  /** Says no hash, as a plain file server. */
  statesNoHash: boolean;
  /** Sends the whole file whatever range is asked for. */
  ignoresRanges: boolean;
}

/** A hub on loopback with the paths, headers and redirects of the Hugging Face hub. */
export interface ModelHub {
  url: string;
  /** The commit that every branch stands for. */
  commit: string;
  requests: HubRequest[];
  faults: HubFaults;
  /** Publishes the files of a folder; later calls with the same name replace it. */
  publish(repository: string, folder: string): Promise<void>;
  close(): Promise<void>;
}

/** Larger files are kept apart, as those in Git LFS are. */
const smallBytes = 2_000;

export async function startModelHub(): Promise<ModelHub> {
  const commit = 'c0ffee'.padEnd(40, '0');
  const files = new Map<string, Buffer>();
  const requests: HubRequest[] = [];
  const faults: HubFaults = {
    ...{ breaksAfter: new Map(), lies: new Map() },
    ...{ status: null, statesNoHash: false, ignoresRanges: false },
  };

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(request.url!);
    const isHead = request.method === 'HEAD';
    requests.push({ method: request.method!, path, range: request.headers.range });
    if (faults.status !== null) return void response.writeHead(faults.status).end();
    const [, repository, name] = /^\/(?:cdn\/)?([^/]+\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(path) ?? [];
    const content = files.get(`${repository}/${name}`);
    if (content === undefined) return void response.writeHead(404).end('Entry not found');
    const headers = { 'x-repo-commit': commit, ...(faults.statesNoHash ? {} : statedHash(content)) };
    if (content.length > smallBytes && !path.startsWith('/cdn/') && !faults.statesNoHash) {
      return void response.writeHead(302, { ...headers, location: `/cdn${path}` }).end(isHead ? '' : 'Found.');
    }
    send(response, { name: name!, content: Buffer.from(faults.lies.get(name!) ?? content), headers, isHead }, request);
  }

  function send(
    response: ServerResponse,
    file: { name: string; content: Buffer; headers: Record<string, string>; isHead: boolean },
    { headers }: IncomingMessage,
  ): void {
    const { name, content, isHead } = file;
    const from = faults.ignoresRanges ? 0 : Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
    const rest = content.subarray(from);
    const partial = from > 0 ? { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { ...file.headers, ...partial, 'content-length': rest.length });
    if (isHead) return void response.end();
    const breakAt = faults.breaksAfter.get(name);
    if (breakAt === undefined) return void response.end(rest);
    faults.breaksAfter.delete(name);
    response.write(rest.subarray(0, breakAt.bytes));
    void breakAt.when.then(() => response.destroy());
  }

  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ commit, requests, faults },
    async publish(repository, folder) {
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const path = join(entry.parentPath, entry.name);
        const name = path.slice(folder.length + 1).replaceAll(sep, '/');
        files.set(`${repository}/${name}`, await readFile(path));
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** SHA-256 and size of large files, the name that git gives to small ones. */
function statedHash(content: Buffer): Record<string, string> {
  if (content.length <= smallBytes) {
    return { etag: `"${createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')}"` };
  }
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { 'x-linked-etag': `"${sha256}"`, 'x-linked-size': String(content.length) };
}
