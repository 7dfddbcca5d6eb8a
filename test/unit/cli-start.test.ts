import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newEncryptionKey } from '../../src/base/encryption.ts';
import { MemorydError } from '../../src/base/errors.ts';
import { buildProgram } from '../../src/cli/program.ts';
import type { AppOptions, CommandContext, DaemonApp } from '../../src/cli/context.ts';
import {
  isAlive,
  readDaemonFile,
  removeDaemonFile,
  writeDaemonFile,
  type DaemonFile,
} from '../../src/cli/daemon-file.ts';
import type { Connection, ConnectionProgress, NewConnection } from '../../src/connections/connection-types.ts';
import type { Connections } from '../../src/connections/connection-service.ts';
import { createJumpingClock, createScreen, runCommand } from '../support/command-line.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-start-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const url = 'http://127.0.0.1:6767';

function progressOf(status: 'running' | 'completed', id = 'R1'): ConnectionProgress {
  const run = { id, status, itemsSeen: 3, itemsTotal: 3, error: null } as ConnectionProgress['run'];
  const waiting = status === 'running' ? 2 : 0;
  return {
    run,
    items: { pending: 0, done: 3, failed: 0, skipped: 0 },
    documents: { waiting, foundByWords: 0, done: 3 - waiting, failed: 0 },
    heldDeletes: 0,
    problems: [],
  };
}

interface StandInApp {
  context: Partial<CommandContext>;
  /** What happened, in order. */
  events: string[];
  /** As it stood while the daemon ran. */
  daemonFile: () => DaemonFile;
  options: () => AppOptions;
  created: NewConnection[];
}

/** A daemon that runs until its progress was asked for `polls` times (or at once, without a folder). */
function standInApp(settings: {
  existing?: Partial<Connection>[];
  progress?: ConnectionProgress[];
  firstKey?: string;
  fail?: MemorydError;
}): StandInApp {
  const events: string[] = [];
  const created: NewConnection[] = [];
  const controller = new AbortController();
  const states = settings.progress ?? [progressOf('running'), progressOf('completed')];
  let file: string | null = null;
  let received: AppOptions | null = null;
  const stopSoon = () => setImmediate(() => controller.abort());
  const connections = {
    list: async () => settings.existing ?? [],
    create: async (input: NewConnection) => {
      created.push(input);
      return { id: 'C1', status: 'active' };
    },
    requestSync: async (id: string) => {
      events.push(`sync ${id}`);
      return { id: 'R1' };
    },
    progress: async () => {
      const state = states.shift()!;
      if (states.length === 0) stopSoon();
      return state;
    },
  } as unknown as Connections;
  const app: DaemonApp = {
    url,
    firstKey: settings.firstKey ?? null,
    localToken: 'local-token',
    connections,
    consoleLink: async () => `${url}/#/sign-in/token`,
    async start() {
      events.push('start');
      if (settings.fail) throw settings.fail;
    },
    async close() {
      events.push(`close ${readdirSync(received!.config.dataDir).join()}`);
    },
  };
  const stdout = createScreen();
  return {
    events,
    created,
    options: () => received!,
    daemonFile: () => JSON.parse(file!) as DaemonFile,
    context: {
      cwd: folder,
      env: {},
      clock: createJumpingClock(),
      signal: controller.signal,
      stdout: {
        ...stdout,
        write(text) {
          stdout.write(text);
          if (!text.startsWith('Press Ctrl-C')) return;
          const path = join(received!.config.dataDir, 'daemon.json');
          file = readFileSync(path, 'utf8');
          expect(statSync(path).mode & 0o777).toBe(0o600);
          if (settings.progress === undefined && !settings.existing && created.length === 0) stopSoon();
        },
      },
      async createApp(options) {
        received = options;
        mkdirSync(options.config.dataDir, { recursive: true });
        return app;
      },
    },
  };
}

describe('start', () => {
  test('announces the daemon while it runs, and takes that back at a clean stop', async () => {
    const app = standInApp({});
    const { exitCode, stderr } = await runCommand(['start'], app.context);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'Stopping. Press Ctrl-C again to stop at once.\n' });
    expect(app.daemonFile()).toEqual({
      url,
      pid: process.pid,
      token: 'local-token',
      startedAt: '2026-03-01T09:00:00.000Z',
    });
    expect(app.events).toEqual(['start', 'close ']);
  });

  test('hands options of the command line on as configuration', async () => {
    writeFileSync(join(folder, 'c.json'), '{ "orgName": "Example", "port": 1 }');
    const app = standInApp({});
    const options = ['--port', '8080', '--host', '0.0.0.0', '--data-dir', 'data', '--log-level', 'silent'];
    await runCommand(['start', '--config', 'c.json', ...options], app.context);
    expect(app.options().config).toMatchObject({
      port: 8080,
      host: '0.0.0.0',
      dataDir: join(folder, 'data'),
      logLevel: 'silent',
      orgName: 'Example',
    });
    expect(app.options().log.level).toBe('silent');
    expect(app.options().settings).toEqual(
      expect.arrayContaining([
        { field: 'port', value: 8080, source: 'option --port' },
        { field: 'orgName', value: 'Example', source: expect.stringContaining('c.json line 1') },
      ]),
    );
  });

  test('prints a generated key once', async () => {
    const app = standInApp({ firstKey: 'sm_generated' });
    const printed: string[] = [];
    const write = app.context.stdout!.write;
    app.context.stdout = { ...app.context.stdout!, write: (text) => (printed.push(text), write(text)) };
    await runCommand(['start'], app.context);
    expect(printed.join('').match(/^ {2}sm_generated$/gm)).toHaveLength(1);
  });

  test('prints a link that opens the console on a terminal, and into no log', async () => {
    const printedOn = async (isTTY: boolean) => {
      const app = standInApp({});
      const printed: string[] = [];
      const write = app.context.stdout!.write;
      app.context.stdout = { ...app.context.stdout!, isTTY, write: (text) => (printed.push(text), write(text)) };
      await runCommand(['start'], app.context);
      return printed.join('');
    };
    expect((await printedOn(true)).match(/^ {2}http:\/\/127\.0\.0\.1:6767\/#\/sign-in\/token$/gm)).toHaveLength(1);
    const logged = await printedOn(false);
    expect(logged).not.toContain('sign-in');
    expect(logged).toContain('`npx memoryd console` prints a link');
  });

  test('mirrors a folder and tells how far it is', async () => {
    mkdirSync(join(folder, 'notes'));
    const app = standInApp({ progress: [progressOf('running'), progressOf('running'), progressOf('completed')] });
    const { exitCode, stderr } = await runCommand(['start', './notes', '--tag', 'handbook'], app.context);
    expect(exitCode).toBe(0);
    expect(app.created).toEqual([
      { provider: 'folder', containerTag: 'handbook', metadata: { path: join(folder, 'notes') }, readsAnyPath: true },
    ]);
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      './notes: 3 seen, 1 done, 0 failed',
      './notes: 3 seen, 3 done, 0 failed in 1 s. From now on changes are mirrored as they happen.',
    ]);
  });

  test('syncs a folder that is connected already instead of connecting it twice', async () => {
    mkdirSync(join(folder, 'notes'));
    const path = join(folder, 'notes');
    const existing = [
      { id: 'C0', status: 'active', containerTag: 'other', config: { path } },
      { id: 'C1', status: 'active', containerTag: 'sm_project_default', config: { path } },
    ] as Partial<Connection>[];
    const progress = [progressOf('completed', 'R0'), progressOf('completed', 'R1')];
    const app = standInApp({ existing, progress });
    expect((await runCommand(['start', 'notes'], app.context)).exitCode).toBe(0);
    expect(app.created).toEqual([]);
    expect(app.events).toEqual(['start', 'sync C1', 'close ']);
    expect(progress).toEqual([]);
  });

  test('tells on a terminal how far syncs are that somebody else began, and what full ones came to', async () => {
    const run = (id: string, mode: 'full' | 'incremental') => ({ id, mode }) as Connection['lastRun'];
    const notes = { id: 'C1', provider: 'folder', email: null, config: { path: '/srv/notes' } };
    const [first, later] = [run('R1', 'full'), run('R2', 'incremental')];
    const looks = [first, first, first, later];
    const app = standInApp({
      existing: [],
      // The first look finds the run, two follow it, one finds that it is over; the one after that is over at once.
      progress: [
        ...(['running', 'running', 'completed', 'completed'] as const).map((status) => progressOf(status)),
        progressOf('completed', 'R2'),
      ],
    });
    const create = app.context.createApp!;
    app.context.createApp = async (options) => {
      const started = await create(options);
      const withLastRuns = async () => [{ ...notes, lastRun: looks.length > 1 ? looks.shift()! : later }];
      return { ...started, connections: { ...started.connections, withLastRuns } as unknown as Connections };
    };
    const { stderr } = await runCommand(['start'], { ...app.context, stderr: createScreen({ isTTY: true }) });
    const shown = stderr.split(/[\r\n]+/).map((text) => text.replace('\u001b[2K', ''));
    expect(shown.filter((text) => text.includes('folder /srv/notes'))).toEqual([
      'folder /srv/notes: 3 seen, 1 done, 0 failed',
      expect.stringMatching(/^folder \/srv\/notes: 3 seen, 3 done, 0 failed in /),
    ]);
  });

  test('a paused folder stays paused', async () => {
    mkdirSync(join(folder, 'notes'));
    const config = { path: join(folder, 'notes') };
    const app = standInApp({
      existing: [{ id: 'C1', status: 'paused', containerTag: 'sm_project_default', config }],
    });
    const { signal } = app.context;
    const controller = new AbortController();
    const stderr = createScreen();
    const context = {
      ...app.context,
      signal: AbortSignal.any([signal!, controller.signal]),
      stderr: {
        ...stderr,
        write(text: string) {
          stderr.write(text);
          if (text.includes('memoryd resume')) setImmediate(() => controller.abort());
        },
      },
    };
    expect((await runCommand(['start', 'notes'], context)).exitCode).toBe(0);
    expect(stderr.text()).toContain('notes is paused. `memoryd resume C1` goes on with it.');
    expect(app.events).toEqual(['start', 'close ']);
  });

  test.each([
    ['missing', 'does not exist.'],
    ['file', 'is not a folder.'],
  ])('refuses a folder that is %s before anything starts', async (name, message) => {
    writeFileSync(join(folder, 'file'), '');
    const app = standInApp({});
    const result = await runCommand(['start', name], app.context);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`${join(folder, name)} ${message}`) });
    expect(app.events).toEqual([]);
  });

  test('a start that fails is explained, and leaves the file of the daemon that runs alone', async () => {
    const other = { url, pid: 1, token: 't', startedAt: 'x' };
    await writeDaemonFile(join(folder, '.memoryd'), other);
    const app = standInApp({ fail: new MemorydError('data_dir_locked', 'Another memoryd (process 1) uses it.') });
    const result = await runCommand(['start'], app.context);
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain('memoryd: Another memoryd (process 1) uses it.\nStop the other daemon');
    expect(app.events).toEqual(['start', 'close daemon.json']);
    expect(await readDaemonFile(join(folder, '.memoryd'))).toEqual(other);
  });

  test('a process without the API is not announced', async () => {
    const app = standInApp({});
    const { signal } = app.context;
    const env = {
      DATABASE_URL: 'postgresql://db/memory',
      REDIS_URL: 'redis://queue',
      ENCRYPTION_KEY: newEncryptionKey(),
    };
    const stop = new AbortController();
    const write = (text: string) => {
      expect(text).toContain('runs as worker. Data: PostgreSQL, as the environment variable DATABASE_URL says');
      setImmediate(() => stop.abort());
    };
    const context = {
      ...app.context,
      env,
      stdout: createScreen({ write }),
      signal: AbortSignal.any([signal!, stop.signal]),
    };
    expect((await runCommand(['start', '--role', 'worker'], context)).exitCode).toBe(0);
    expect(app.events).toEqual(['start', 'close ']);
  });

  test('log lines are JSON, or readable where somebody looks', async () => {
    for (const isTTY of [false, true]) {
      const app = standInApp({});
      const create = app.context.createApp!;
      app.context.createApp = async (options) => {
        options.log.info({ items: 3 }, 'ready');
        return create(options);
      };
      const { stderr } = await runCommand(['start'], { ...app.context, stderr: createScreen({ isTTY }) });
      if (isTTY)
        expect(stderr).toMatch(
          /^Starting …\r\u001b\[2K\d\d:\d\d:\d\d info {2}ready {2}items=3\nStarting …\r\u001b\[2K/,
        );
      else expect(JSON.parse(stderr.split('\n')[0]!)).toMatchObject({ msg: 'ready', items: 3 });
    }
  });
});

describe('daemon.json', () => {
  const content = { url, pid: 4711, token: 'secret', startedAt: '2026-03-01T09:00:00.000Z' };

  test('is for its owner only, also when it is written over one that was not', async () => {
    writeFileSync(join(folder, 'daemon.json'), '{}', { mode: 0o644 });
    await writeDaemonFile(folder, content);
    expect(statSync(join(folder, 'daemon.json')).mode & 0o777).toBe(0o600);
    expect(await readDaemonFile(folder)).toEqual(content);
    expect(readdirSync(folder)).toEqual(['daemon.json']);
  });

  test.each(['', '{', 'null', '[]', '{"url":"x"}', '{"url":"x","pid":"1","token":"t"}'])(
    'that says %j counts as none',
    async (text) => {
      writeFileSync(join(folder, 'daemon.json'), text);
      expect(await readDaemonFile(folder)).toBeNull();
    },
  );

  test('is removed only by the process that wrote it', async () => {
    await writeDaemonFile(folder, content);
    await removeDaemonFile(folder, 4712);
    expect(await readDaemonFile(folder)).toEqual(content);
    await removeDaemonFile(folder, 4711);
    expect(await readDaemonFile(folder)).toBeNull();
    await removeDaemonFile(join(folder, 'none'), 1);
  });

  test('tells living processes from dead ones', () => {
    expect(isAlive(process.pid)).toBe(true);
    // No process has an id beyond the system's limit.
    expect(isAlive(2 ** 30)).toBe(false);
  });
});

describe('help', () => {
  const screen = createScreen();
  const unused = () => Promise.reject(new Error('not needed'));
  const program = buildProgram({
    version: '1.2.3',
    env: {},
    cwd: '/',
    clock: createJumpingClock(),
    signal: new AbortController().signal,
    stdout: screen,
    stderr: screen,
    readInput: unused,
    ask: null,
    openBrowser: unused,
    createApp: unused,
    createEmbedder: unused,
    localModels: unused,
    tryLanguageModel: unused,
    rotateKeys: unused,
  });
  const all = (command: typeof program): (typeof program)[] => [command, ...command.commands.flatMap(all)];
  const commands = all(program).map((command) => [command.name(), command] as const);

  test.each(commands)('%s says what it does and gives examples that parse', (name, command) => {
    const before = screen.text().length;
    command.outputHelp();
    const help = screen.text().slice(before);
    expect(command.description()).toMatch(/^[A-Z].{10,}\.$/);
    const examples = help.split('Examples:\n')[1]!.trimEnd().split('\n');
    for (const example of examples) {
      const words = /memoryd (\S+)(?: (\S+))?/.exec(example)!;
      const child = program.commands.find((candidate) => candidate.name() === words[1]);
      expect(child, example).toBeDefined();
      if (child!.commands.length > 0) expect(child!.commands.map((each) => each.name())).toContain(words[2]);
      for (const [flag] of example.matchAll(/ --[a-z-]+/g)) {
        const known = (child!.commands.find((each) => each.name() === words[2]) ?? child!).options;
        expect(
          known.map(({ long }) => long),
          example,
        ).toContain(flag.trim());
      }
      if (name !== 'memoryd')
        expect(
          all(command)
            .concat(command.parent!)
            .map((each) => each.name()),
        ).toContain(words[1]);
    }
    for (const option of command.options) expect(option.description, option.flags).not.toBe('');
    for (const argument of command.registeredArguments) expect(argument.description).not.toBe('');
  });

  test('of the program lists every command', () => {
    const help = program.helpInformation();
    const names = program.commands.map((command) => command.name());
    expect(names.sort()).toEqual(
      'add backup cancel check config connect connections connector console disconnect doctor encryption erase failures import items keys mcp memories models open pause push quota resume retry runs search start status sync'.split(
        ' ',
      ),
    );
    for (const name of names) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'));
  });
});
