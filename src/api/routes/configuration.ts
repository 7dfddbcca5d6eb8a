import Type from 'typebox';
import { nullable, timestamp, words } from '../schemas/shared.ts';
import { requireFullKey } from '../../account/access.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';

const checksAnswer = Type.Object({
  ok: Type.Boolean({ description: 'All of them are.' }),
  checks: Type.Array(
    Type.Object({
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.String(),
      remedy: nullable(Type.String(), { description: 'How to mend it.' }),
    }),
  ),
});

const warningsAnswer = Type.Object({
  warnings: Type.Array(
    Type.Object({
      level: words(['warn', 'error']),
      message: Type.String(),
      count: Type.Integer({ description: 'How often it was said.' }),
      firstAt: timestamp,
      lastAt: timestamp,
      fields: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
        description: 'Ids, names of parts and numbers.',
      }),
    }),
    { description: 'Newest first; at most 100 that differ.' },
  ),
});

const processesAnswer = Type.Object({
  processes: Type.Array(
    Type.Object({
      role: words(['all', 'api', 'worker', 'scheduler']),
      version: Type.String(),
      host: Type.String(),
      pid: Type.Integer(),
      startedAt: timestamp,
      seenAt: timestamp,
      isAlive: Type.Boolean({ description: 'It was seen within the last minute.' }),
      isThis: Type.Boolean({ description: 'It gave this answer.' }),
    }),
    { description: 'The oldest first. One that ended without saying so is named for a day.' },
  ),
});

const configurationAnswer = Type.Object({
  settings: Type.Array(
    Type.Object({
      field: Type.String({ description: 'As in the configuration file, e.g. embedder.kind.' }),
      value: Type.Unknown({ description: 'Any JSON value; null: none. Secrets are masked.' }),
      source: Type.String({ description: 'default, or which option, variable or line of the file gives it.' }),
    }),
    { description: 'In the order of the documentation.' },
  ),
  risks: Type.Array(Type.String(), {
    description: 'Settings that make the daemon easier to break into than it need be, each with its remedy.',
  }),
});

/** The configuration of the process, as `memoryd config` shows it. */
export function configurationRoutes(app: Api, context: RouteContext): void {
  const { services } = context;
  processesRoute(app, context);
  app.get(
    '/v3/configuration',
    {
      schema: {
        operationId: 'getConfiguration',
        summary: 'The configuration of this process and where it is from',
        description: 'Needs a full key. It is read at the start; secrets are masked.',
        tags: ['Service'],
        response: { 200: configurationAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      return services.status.configuration();
    },
  );

  app.get(
    '/v3/system/checks',
    {
      schema: {
        operationId: 'getSystemChecks',
        summary: 'Check the machine and what runs on it',
        description: 'Needs a full key. The checks of memoryd doctor, of this process. The model tests itself for it.',
        tags: ['Service'],
        response: { 200: checksAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const checks = await services.status.checks();
      return { ok: checks.every(({ ok }) => ok), checks };
    },
  );

  app.get(
    '/v3/system/warnings',
    {
      schema: {
        operationId: 'getSystemWarnings',
        summary: 'The last warnings and errors of the log',
        description: 'Needs a full key. Those of this process since its start; equal ones are counted.',
        tags: ['Service'],
        response: { 200: warningsAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      return { warnings: services.status.warnings() };
    },
  );
}

function processesRoute(app: Api, { services }: RouteContext): void {
  app.get(
    '/v3/system/processes',
    {
      schema: {
        operationId: 'listProcesses',
        summary: 'The processes of this database and their roles',
        description: 'Needs a full key. Each says four times a minute that it runs.',
        tags: ['Service'],
        response: { 200: processesAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      return { processes: await services.status.processes() };
    },
  );
}
