import type { Caller } from '../../account/access.ts';
import type { Organization } from '../../account/organization.ts';
import { callerOf, type Api, type RouteContext } from '../request.ts';
import { sessionAnswer, type SessionAnswer } from '../schemas/keys.ts';

/** Section 22.2 of the API. */
export function sessionRoutes(app: Api, { config }: RouteContext): void {
  app.get(
    '/v3/session',
    {
      schema: {
        operationId: 'getSession',
        summary: 'The owner of the key and its rights',
        tags: ['Keys'],
        response: { 200: sessionAnswer },
      },
    },
    async (request) => sessionView(callerOf(request), config.organization),
  );
}

export function sessionView(caller: Caller, organization: Organization): SessionAnswer {
  const isFull = caller.kind === 'full';
  const { rateLimit, expiresAt, permission } = caller;
  return {
    // There are no people in a deployment; the key stands for its holder.
    user: { id: caller.keyId },
    org: organization,
    role: isFull ? 'owner' : 'member',
    accessType: isFull ? 'full' : 'restricted',
    containerTags: isFull ? null : [...caller.grants],
    scope: {
      type: caller.kind,
      permission,
      tags: isFull ? undefined : caller.grants.map((grant) => grant.containerTag),
      rateLimit: rateLimit && rateLimit.max > 0 ? { max: rateLimit.max, timeWindow: rateLimit.windowMs } : undefined,
      expires: expiresAt ?? undefined,
    },
  };
}
