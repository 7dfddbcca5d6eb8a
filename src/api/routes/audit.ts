import Type from 'typebox';
import { lastOf } from '../../base/collections.ts';
import { requireFullKey } from '../../account/access.ts';
import type { AuditQuery } from '../../account/audit.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import { readDigits } from '../body.ts';
import { dateTime, nullable, timestamp, words } from '../schemas/shared.ts';
import { invalidField, momentOf } from '../validation.ts';

const standardLimit = 100;

const query = Type.Object({
  action: Type.Optional(Type.String({ maxLength: 100, description: 'Only this one, such as key.create.' })),
  outcome: Type.Optional(words(['done', 'denied', 'failed'])),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'next of the page before.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${standardLimit}.` })),
});

const answer = Type.Object({
  events: Type.Array(
    Type.Object({
      id: Type.String(),
      at: timestamp,
      action: Type.String({
        description:
          'request: something that was denied. key.wrong: a key that nobody has; console.sign-in says the same of the console.',
      }),
      outcome: words(['done', 'denied', 'failed']),
      status: Type.Integer({ description: 'Status of the HTTP answer.' }),
      keyId: nullable(Type.String(), {
        description: 'Null: no key, or an unknown one. local: a command on the machine.',
      }),
      keyName: nullable(Type.String()),
      address: nullable(Type.String()),
      target: nullable(Type.String(), { description: 'Id of what it was done to, or the route that was denied.' }),
      count: Type.Integer({ description: 'Denied requests of one kind within a minute are counted together.' }),
    }),
    { description: 'Newest first.' },
  ),
  next: nullable(Type.String(), { description: 'cursor of the next page; null on the last one.' }),
});

const dayMs = 24 * 60 * 60_000;

const wrongKeysQuery = Type.Object({
  since: Type.Optional(
    dateTime('Only those after this time, as at of an event tells it. Default and earliest: a day ago.'),
  ),
});

const wrongKeysAnswer = Type.Object({
  count: Type.Integer({ description: 'How often one was given.' }),
  addresses: Type.Array(Type.String(), { description: 'Those that most came from, at most ten.' }),
  addressCount: Type.Integer({ description: 'How many addresses they came from.' }),
});

/** Changes to keys, connections, settings and data with their callers, and denied requests. Kept for 90 days. */
export function auditRoutes(app: Api, { services, clock }: RouteContext): void {
  app.get(
    '/v3/audit',
    {
      preValidation: readDigits('limit'),
      schema: {
        operationId: 'listAuditEvents',
        summary: 'The security log',
        description: 'Needs a full key. Events appear within a second or two and are kept for 90 days.',
        tags: ['Keys'],
        querystring: query,
        response: { 200: answer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const { action, outcome, cursor, limit = standardLimit } = request.query;
      const wanted: AuditQuery = {
        limit: limit + 1,
        action,
        outcome,
        before: cursor,
      };
      const found = await services.audit.list(wanted);
      const events = found.slice(0, limit);
      return { events, next: found.length > limit ? lastOf(events).id : null };
    },
  );
  app.get(
    '/v3/audit/wrong-keys',
    {
      schema: {
        operationId: 'countWrongKeys',
        summary: 'Wrong keys of the last day',
        description: 'Keys that nobody has, with which somebody asked for something or signed in. Needs a full key.',
        tags: ['Keys'],
        querystring: wrongKeysQuery,
        response: { 200: wrongKeysAnswer },
      },
    },
    async (request) => {
      requireFullKey(callerOf(request));
      const dayAgo = new Date(clock.now().getTime() - dayMs);
      const { since: asked } = request.query;
      const since = asked === undefined ? dayAgo : momentOf(asked);
      if (since === null) throw invalidField(['since'], 'since must be a time that exists');
      return services.audit.wrongKeys(since > dayAgo ? since : dayAgo);
    },
  );
}
