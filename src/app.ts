import { randomBytes, randomUUID } from 'node:crypto';
import packageJson from '../package.json' with { type: 'json' };
import { openRateCounter, type AppOptions } from './adapters.ts';
import { createConsoleSessions } from './account/console-sessions.ts';
import { ensureFirstKey, ensureOrganization, type Organization } from './account/organization.ts';
import { createIdempotency } from './account/idempotency.ts';
import { createKeys } from './account/keys.ts';
import { createApi } from './api/create-api.ts';
import { createBackups } from './backups.ts';
import { risksOf } from './base/checks.ts';
import type { Connections } from './connections/connection-service.ts';
import { createContentServices } from './content-services.ts';
import { apiConfig, listen, publicUrl } from './listening.ts';
import { mcpRoutes } from './mcp/mcp-routes.ts';
import { openEngine, type Engine } from './open-engine.ts';
import { openSources, type Sources } from './open-sources.ts';
import { Opened, startOpening } from './opening.ts';
import { createPresence, createStatus, trackModel } from './process-status.ts';
import { requireSchedule } from './schedule/connection-schedule.ts';
import { startScheduler, takeTasks, workBeside } from './start-roles.ts';

export interface App {
  /** Where it listens; known after `start`. */
  readonly url: string;
  /** The key that was generated, at the very first start; null ever after. */
  readonly firstKey: string | null;
  /** Opens the API to commands on this machine, until the process ends. */
  readonly localToken: string;
  readonly connections: Connections;
  /** An address that opens the console, once, for whoever is at this machine. */
  consoleLink(): Promise<string>;
  /** Starts working and listening. */
  start(): Promise<void>;
  /** Ends what is under way, in order; what is not finished goes on at the next start. */
  close(): Promise<void>;
}

const { version } = packageJson;

/** The composition root: it and what it opens alone know which database, queue, models and connectors there are. */
export async function createApp(given: AppOptions, beginning = startOpening(given)): Promise<App> {
  const opening = await beginning;
  const { options, warnings } = opening;
  const { config, clock, log } = options;
  const opened = new Opened();
  opened.add({ close: async () => (await opening.embedder.catch(() => null))?.close() });
  try {
    let url = '';
    const engine = await openEngine(options, opening, opened);
    for (const risk of risksOf(config)) log.warn({ risk }, 'the configuration can be made safer');
    const account = await openAccount(options, engine);
    const sources = await openSources(options, engine, { opened, publicUrl: () => publicUrl(config, url) });
    opened.add(account.keys);
    const content = openContent(options, { engine, sources, organization: account.organization, opened });
    const holder = randomUUID();
    const presence = createPresence({ database: engine.database, clock, log, holder, role: config.role, version });
    const model = trackModel(engine.embedder, log);
    const status = createStatus(options, { ...engine, ...sources, warnings, processes: () => presence.list() }, model);
    const backups = openBackups(options, engine);
    const api = await openApi(options, { engine, account, sources, content, backups, status, opened });
    const roles = { engine, sources, content, backups, holder, opened };
    const does = (role: string) => config.role === 'all' || config.role === role;
    const stop = new AbortController();
    const background: Promise<unknown>[] = [];
    return {
      get url() {
        return url;
      },
      firstKey: account.firstKey,
      localToken: account.localToken,
      connections: sources.connections,
      async consoleLink() {
        const { keys, consoleSessions } = account;
        return (await consoleSessions.createLink(keys.holderOf(null)!, config.publicUrl ?? url)).url;
      },
      async start() {
        await presence.begin();
        background.push(presence.keepRunning(stop.signal));
        if (does('worker')) await takeTasks(options, roles);
        if (does('api')) url = await listen(api, config);
        background.push(model.open());
        if (does('worker')) background.push(...workBeside(options, roles, stop.signal));
        if (does('scheduler')) startScheduler(options, roles);
      },
      async close() {
        await api.close();
        stop.abort();
        await Promise.all(background);
        await opened.close();
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Whose memory this is, and who may use it. */
async function openAccount({ config, clock, log }: AppOptions, { database }: Engine) {
  const localToken = randomBytes(32).toString('base64url');
  const organization = await ensureOrganization({ database, clock }, config.orgName);
  const firstKey = await ensureFirstKey({ database, clock, organization }, config.apiKey);
  const keys = createKeys({ database, clock, log, organization, localToken });
  const consoleSessions = createConsoleSessions({ database, clock, keys });
  return { localToken, organization, firstKey, keys, consoleSessions };
}

function openContent(
  { config, clock, log }: AppOptions,
  parts: { engine: Engine; sources: Sources; organization: Organization; opened: Opened },
) {
  const { engine, sources, organization, opened } = parts;
  const { database, embedder, languageModel, waking } = engine;
  const { connections, clients } = sources;
  const content = createContentServices({
    ...{ database, clock, log, embedder, organization, connections, clients },
    answering: languageModel,
    defaultContainerTag: config.defaultContainerTag,
    wake: (count) => waking.documents(count),
  });
  opened.add(content.merges);
  opened.add(content.erasures);
  opened.add(content.audit);
  return content;
}

/** Null where the database has means of its own. */
function openBackups({ config, clock, log }: AppOptions, { database }: Engine) {
  const scheduled = { ...config.backup, schedule: requireSchedule(config.backup.schedule, 'backup.schedule') };
  if (database.engine !== 'pglite') return null;
  return createBackups({ database, dataDir: config.dataDir, clock, log, scheduled });
}

async function openApi(
  options: AppOptions,
  parts: {
    engine: Engine;
    account: Awaited<ReturnType<typeof openAccount>>;
    sources: Sources;
    content: ReturnType<typeof openContent>;
    backups: ReturnType<typeof openBackups>;
    status: ReturnType<typeof createStatus>;
    opened: Opened;
  },
) {
  const { config, clock, log } = options;
  const { database } = parts.engine;
  const { organization, keys, consoleSessions } = parts.account;
  const { connections, consents, push, hooks, metrics } = parts.sources;
  return createApi({
    services: {
      ...parts.content,
      ...{ connections, consents, push, keys, consoleSessions },
      idempotency: createIdempotency({ database, clock }),
      rates: parts.opened.add(await openRateCounter(options)),
      hooks: hooks.receiver,
      metrics: config.metrics ? metrics : undefined,
      status: parts.status,
      backups: parts.backups,
    },
    config: await apiConfig(config, organization),
    clock,
    log,
    version,
    further: mcpRoutes,
  });
}
