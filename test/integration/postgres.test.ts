import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/base/log.ts';
import type { Database } from '../../src/store/database.ts';
import { openPostgres, unsupported } from '../../src/store/postgres.ts';
import { sql } from '../../src/store/sql.ts';
import { describeWithService } from '../support/services.ts';

describe('requirements on the server', () => {
  const good = { number: 170_011, version: '17.11', vectorAvailable: '0.8.0', vectorInstalled: null };

  test.each([
    ['new enough', good],
    ['the oldest that serves', { ...good, number: 150_000, vectorAvailable: '0.8.0', vectorInstalled: '0.8.0' }],
    ['a later pgvector', { ...good, vectorAvailable: '1.0.0', vectorInstalled: '0.10.2' }],
  ])('%s', (_name, facts) => {
    expect(unsupported(facts)).toBeUndefined();
  });

  test.each([
    ['an old server', { ...good, number: 140_015, version: '14.15' }, /PostgreSQL 14\.15; memoryd needs 15/],
    ['no pgvector', { ...good, vectorAvailable: null }, /no pgvector; install pgvector 0\.8/],
    ['an old pgvector', { ...good, vectorAvailable: '0.7.4' }, /has pgvector 0\.7\.4; install pgvector 0\.8/],
    [
      'an old pgvector in the database only',
      { ...good, vectorInstalled: '0.5.1' },
      /uses pgvector 0\.5\.1; run `alter extension vector update`.*0\.8\.0/,
    ],
  ])('%s is refused', (_name, facts, message) => {
    expect(unsupported(facts)).toMatch(message);
  });
});

describe('a server that does not serve', () => {
  let server: Server | undefined;

  afterEach(() => {
    server?.close();
    server = undefined;
  });

  async function listen(onConnection: (socket: import('node:net').Socket) => void): Promise<number> {
    server = createServer(onConnection).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async function failureAt(place: string): Promise<Error> {
    const opening = openPostgres({ url: `postgresql://someone:pa55word@${place}`, log: silentLogger });
    return opening.then(
      () => expect.unreachable('It opened.'),
      (error: Error) => error,
    );
  }

  test('nobody listens', async () => {
    const port = await listen(() => undefined);
    server!.close();
    const error = await failureAt(`127.0.0.1:${port}/memory`);
    expect(error).toMatchObject({ code: 'database_unreachable' });
    expect(error.message).toContain(`PostgreSQL at 127.0.0.1:${port}/memory does not serve: connect ECONNREFUSED`);
    expect(JSON.stringify([error, error.message, error.stack])).not.toContain('pa55word');
  });

  test('something else listens', async () => {
    const port = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await failureAt(`127.0.0.1:${port}/memory`)).toMatchObject({ code: 'database_unreachable' });
  });

  test('it closes each connection', async () => {
    const port = await listen((socket) => socket.destroy());
    expect(await failureAt(`127.0.0.1:${port}/memory`)).toMatchObject({ code: 'database_unreachable' });
  });

  test('the host does not exist', async () => {
    const error = await failureAt('no-such-host.invalid/memory');
    expect(error).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining('no-such-host.invalid'),
    });
  });
});

describeWithService('DATABASE_URL', 'a server that serves', (url) => {
  let database: Database | undefined;

  afterEach(async () => {
    await database?.close();
    database = undefined;
  });

  async function open(lines: string[] = []): Promise<Database> {
    const log = createLogger('warn', { write: (line) => void lines.push(line) });
    database = await openPostgres({ url, poolSize: 3, log, applicationName: 'memoryd-postgres-test' });
    return database;
  }

  const backends = sql`select pid from pg_stat_activity where application_name = 'memoryd-postgres-test'`;
  const backendOf = async (from: Pick<Database, 'query'>) =>
    (await from.query<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]!.pid;

  test('a database that does not exist is named', async () => {
    const other = new URL(url);
    other.pathname = '/no_such_database';
    await expect(openPostgres({ url: other.href, log: silentLogger })).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(/no_such_database.*does not exist \(3D000\)/),
    });
  });

  test('it has no more connections than the pool may', async () => {
    const opened = await open();
    await Promise.all(Array.from({ length: 20 }, () => opened.query(sql`select pg_sleep(0.01)`)));
    expect((await opened.query(backends)).length).toBe(3);
  });

  test('an idle connection that breaks is replaced, and the log says so once', async () => {
    const lines: string[] = [];
    const opened = await open(lines);
    const other = await openPostgres({ url, log: silentLogger });
    const pid = await backendOf(opened);
    await other.query(sql`select pg_terminate_backend(${pid}::integer)`);
    await other.close();
    await expect.poll(() => lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'idle database connection lost' });
    expect(await backendOf(opened)).not.toBe(pid);
  });

  test('a connection that breaks in a transaction fails it and nothing else', async () => {
    const opened = await open();
    const work = opened.transaction(async (tx) => {
      await tx.query(sql`select pg_terminate_backend(pg_backend_pid())`);
    });
    await expect(work).rejects.toMatchObject({ code: 'database_unreachable' });
    const pids = await Promise.all([1, 2, 3].map(() => opened.transaction((tx) => backendOf(tx))));
    expect(new Set(pids).size).toBe(3);
  });

  test('a connection is used again after a statement that failed', async () => {
    const opened = await open();
    const pid = await backendOf(opened);
    await expect(opened.query(sql`select 1 / 0`)).rejects.toMatchObject({ code: '22012' });
    expect(await backendOf(opened)).toBe(pid);
  });
});
