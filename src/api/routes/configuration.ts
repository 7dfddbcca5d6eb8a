import { requireFullKey } from '../../account/access.ts';
import type { Warning } from '../../base/log-tail.ts';
import { callerOf, type Api, type RouteContext } from '../context.ts';
import { checksAnswer, configurationAnswer, warningsAnswer } from '../schemas/configuration.ts';

/** The configuration of the process, as `memoryd config` shows it. */
export function configurationRoutes(app: Api, { services }: RouteContext): void {
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
      return { warnings: services.status.warnings().map(warningView) };
    },
  );
}

function warningView({ firstAt, lastAt, ...warning }: Warning) {
  return { ...warning, firstAt: firstAt.toISOString(), lastAt: lastAt.toISOString() };
}
