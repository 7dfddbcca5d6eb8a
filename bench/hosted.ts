import gmail from '../connectors/gmail/index.ts';
import drive from '../connectors/google-drive/index.ts';
import notion from '../connectors/notion/index.ts';
import { serveGmail } from '../fixtures/servers/gmail/gmail-server.ts';
import { createGmailSource } from '../fixtures/servers/gmail/gmail-source.ts';
import { docExports } from '../fixtures/servers/google-drive/drive-answers.ts';
import { serveDrive } from '../fixtures/servers/google-drive/drive-server.ts';
import { createDriveSource, docType } from '../fixtures/servers/google-drive/drive-source.ts';
import { serveNotion } from '../fixtures/servers/notion/server.ts';
import { createWorkspace, idFor } from '../fixtures/servers/notion/workspace.ts';
import { createAddressGuard } from '../src/base/address-guard.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { createMetrics } from '../src/base/metrics.ts';
import type { Connector } from '../src/connector/contract.ts';
import { createOutbound } from '../src/source/http/outbound.ts';
import { connectorTo } from '../src/connector-kit/framework.ts';
import { authorizedBy, credentialsOf } from '../test/support/token-authorization.ts';
import { createRandom, makeText } from './corpus.ts';
import { openBenchDatabase, type Engine } from './databases.ts';
import { createPipeline, makeFolder } from './pipeline.ts';
import type { Figure } from './report.ts';
import { createTrivialEmbedder } from './trivial-embedder.ts';

const documentBytes = 2_048;
const changed = 100;
const token = 'token';

/** A stand-in of a source with documents in it. */
interface Hosted {
  connector: Connector<any, any>;
  hosts: Readonly<Record<string, string>>;
  /** Requests so far. */
  count(): number;
  /** Edits the first ones. */
  edit(count: number): void;
  /** The most requests that a first load, a sync without a change and one of some changes may take. */
  most: { first: number; idle: number; changes: number };
  close(): Promise<void>;
}

const hosted = { 'google-drive': openDrive, gmail: openGmail, notion: openNotion } as const;

/**
 * Requests that a source gets for a first load, for nothing and for some changes; and how many documents a second come
 * out of it, against a folder with the same texts. The budgets of requests are left out: they would be what is measured.
 */
export async function benchHosted(name: keyof typeof hosted, engine: Engine, documents: number): Promise<Figure[]> {
  const random = createRandom(7);
  const source = await hosted[name](Array.from({ length: documents }, () => makeText(random, documentBytes)));
  try {
    const folderMs = await timeFolder(engine, documents);
    const { elapsedMs, first, idle, changes } = await timeSource(source, engine, documents);
    const rate = (ms: number) => `${Math.round((documents * 1_000) / ms)} documents per second`;
    return [
      {
        name: `${name}: first load of ${documents} documents, ${engine}, trivial embedder`,
        value: rate(elapsedMs),
        limit: `a folder with the same texts: ${rate(folderMs)}`,
        ratio: folderMs / elapsedMs,
        better: 'larger',
        target: 0.6,
      },
      requestsFigure(`${name}: first load of ${documents} documents`, first, source.most.first),
      requestsFigure(`${name}: sync of nothing`, idle, source.most.idle),
      requestsFigure(`${name}: sync of ${changed} changes`, changes, source.most.changes),
    ];
  } finally {
    await source.close();
  }
}

function requestsFigure(name: string, requests: number, most: number): Figure {
  const value = `${requests} requests`;
  return { name, value, limit: `${most} requests`, ratio: requests / most, better: 'smaller', target: 1 };
}

async function timeFolder(engine: Engine, documents: number): Promise<number> {
  const { database, close } = await openBenchDatabase(engine);
  const folder = await makeFolder(documents, documentBytes);
  const pipeline = await createPipeline(database, createTrivialEmbedder(), { path: folder.path });
  try {
    return await timed(pipeline);
  } finally {
    await pipeline.close();
    await folder.close();
    await close();
  }
}

async function timeSource(source: Hosted, engine: Engine, documents: number) {
  const { database, close } = await openBenchDatabase(engine);
  const guard = createAddressGuard({ allowPrivateUrls: true, allowedPrivateHosts: [] });
  const connect = connectorTo(source.hosts);
  const common = { database, clock: systemClock, log: silentLogger, guard, metrics: createMetrics() };
  const outbound = createOutbound({ ...common, connect });
  const pipeline = await createPipeline(database, createTrivialEmbedder(), {
    connector: unlimited(source),
    outbound,
    credentials: credentialsOf(authorizedBy(token)),
  });
  const requests = async (run: () => Promise<unknown>) => {
    const before = source.count();
    await run();
    return source.count() - before;
  };
  try {
    let elapsedMs = 0;
    const first = await requests(async () => (elapsedMs = await timed(pipeline)));
    if ((await pipeline.documents()) !== documents) throw new Error(`${await pipeline.documents()} documents came.`);
    const idle = await requests(() => timed(pipeline));
    source.edit(changed);
    return { elapsedMs, first, idle, changes: await requests(() => timed(pipeline)) };
  } finally {
    await pipeline.close();
    await outbound.close();
    await close();
  }
}

function unlimited({ connector }: Hosted): Connector<any, any> {
  return { ...connector, spec: { ...connector.spec, limits: [] } };
}

async function timed({ sync, finish }: { sync(): Promise<void>; finish(): Promise<void> }): Promise<number> {
  const started = performance.now();
  await sync();
  await finish();
  return performance.now() - started;
}

const isGood = (given: string) => given === token;

async function openDrive(texts: readonly string[]): Promise<Hosted> {
  const source = createDriveSource(systemClock);
  const server = await serveDrive({ source, clock: systemClock, token: isGood });
  const docs = texts.map((text, index) =>
    source.add({ name: `note ${index}`, mimeType: docType, exports: docExports(text) }),
  );
  // The position, two listings of 1,000 files a page, each document, and the changes since.
  const first = 2 + 2 * Math.ceil((texts.length + 1) / 1_000) + texts.length;
  return {
    connector: drive,
    hosts: { 'www.googleapis.com': server.url, 'docs.google.com': server.url },
    count: () => server.traffic.count(),
    edit(count) {
      for (const { id } of docs.slice(0, count)) source.change(id, { exports: docExports('Another text.') });
    },
    most: { first, idle: 1, changes: 1 + changed },
    close: () => server.close(),
  };
}

async function openGmail(texts: readonly string[]): Promise<Hosted> {
  const source = createGmailSource(systemClock);
  const server = await serveGmail({ source, clock: systemClock, token: isGood });
  const threads = texts.map((text, index) => source.add({ subject: `About ${index}`, text }).threadId);
  return {
    connector: gmail,
    hosts: { 'gmail.googleapis.com': server.url },
    count: () => server.traffic.count(),
    edit(count) {
      for (const threadId of threads.slice(0, count)) source.add({ threadId, subject: 'Re', text: 'An answer.' });
    },
    most: { first: texts.length + Math.ceil(texts.length / 100), idle: 1, changes: 1 + changed },
    close: () => server.close(),
  };
}

async function openNotion(texts: readonly string[]): Promise<Hosted> {
  const workspace = createWorkspace(systemClock);
  const server = await serveNotion({ workspace, clock: systemClock, isGood });
  const yesterday = systemClock.now().getTime() - 86_400_000;
  for (const [index, text] of texts.entries()) {
    workspace.addPage(`note ${index}`, { text, edits: [yesterday - 60_000 * index] });
  }
  // Each page, two lists of 100 pages each, the trash, the head and the users.
  const first = 5 + texts.length + 2 * Math.ceil(texts.length / 100);
  return {
    connector: notion,
    hosts: server.hosts,
    count: () => server.traffic.count(),
    edit(count) {
      for (let index = 0; index < count; index++) workspace.edit(idFor(`note ${index}`), { text: 'Another text.' });
    },
    most: { first, idle: 2, changes: 3 + Math.ceil(changed / 100) + changed },
    close: () => server.close(),
  };
}
