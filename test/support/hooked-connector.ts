import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  authExpired,
  forbidden,
  type Connector,
  type HookSubscription,
  type RawHook,
} from '../../src/connector/contract.ts';

export interface HookEvent {
  delivery?: string;
  account?: string;
  hints?: { partition?: string; ids?: string[] }[];
}

/** Signs a body as the source of `withHooks` does. */
export function signed(body: string, secret: string, headers: Record<string, string> = {}) {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return { payload: body, headers: { 'content-type': 'application/json', 'x-signature': signature, ...headers } };
}

/** A connector whose source sends signed hooks, and what that source was told. */
export function withHooks(connector: Connector<any, any>, options: { lifeMs?: number; canRenew?: boolean } = {}) {
  const source = {
    subscribed: [] as { url: string; secret: string }[],
    active: new Map<string, HookSubscription>(),
    renewals: 0,
    fails: false,
    now: (): Date => new Date(0),
    /** Called when a subscription is made at the source and the answer is under way. */
    beforeSubscribed: async (): Promise<void> => {},
    /** Called while a hook is checked. */
    onReceive: async (): Promise<void> => {},
  };
  const subscription = (id: string): HookSubscription => ({
    id,
    state: { channel: id },
    ...(options.lifeMs === undefined
      ? {}
      : { expiresAt: new Date(source.now().getTime() + options.lifeMs).toISOString() }),
  });
  const answering = () => {
    if (source.fails) throw authExpired('the source refuses');
  };
  const hooked: Connector<any, any> = {
    ...connector,
    hooks: {
      async subscribe(_context, url, secret) {
        answering();
        source.subscribed.push({ url, secret });
        const made = subscription(`channel-${source.subscribed.length}`);
        source.active.set(made.id, made);
        await source.beforeSubscribed();
        return [made];
      },
      ...(options.canRenew && {
        async renew(_context: unknown, old: HookSubscription) {
          answering();
          source.renewals += 1;
          const renewed = subscription(old.id);
          source.active.set(renewed.id, renewed);
          return renewed;
        },
      }),
      async cancel(_context, old) {
        answering();
        source.active.delete(old.id);
      },
      async receive(raw, secret) {
        await source.onReceive();
        const challenge = raw.query['challenge'];
        if (challenge !== undefined) {
          return {
            respond: {
              status: 200,
              headers: { 'content-type': 'text/html', 'x-hook-secret': 'echo' },
              body: challenge,
            },
          };
        }
        requireSignature(raw, secret);
        const event = JSON.parse(Buffer.from(raw.body).toString()) as HookEvent;
        return {
          hints: event.hints ?? [],
          ...(event.delivery === undefined ? {} : { deliveryId: event.delivery }),
          ...(event.account === undefined ? {} : { connection: event.account }),
        };
      },
    },
  };
  return { connector: hooked, source };
}

function requireSignature(raw: RawHook, secret: string): void {
  const expected = createHmac('sha256', secret).update(raw.body).digest();
  const given = Buffer.from(raw.headers['x-signature'] ?? '', 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw forbidden('wrong signature');
}
