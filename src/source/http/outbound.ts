import { randomUUID } from 'node:crypto';
import type { buildConnector } from 'undici';
import type { AddressGuard } from '../../base/address-guard.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Database } from '../../store/database.ts';
import type { Authorization } from '../../auth/authorization.ts';
import type { ConnectorSpec, HostAddress, Http } from '../../connector/contract.ts';
import { checkedAddresses } from './checked-addresses.ts';
import { createBudgets, limitsOf } from './budgets.ts';
import { createKeptAnswers } from './conditional.ts';
import { createHttp } from './create-http.ts';
import { createGate, type Gate } from './gate.ts';
import { createOrigins } from './origins.ts';
import { createPerform } from './perform.ts';
import { createSourceClock } from './source-clock.ts';
import { createTransport } from './transport.ts';

export interface OutboundOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  guard: AddressGuard;
  metrics: Metrics;
  /** See `Context.ownFolders`. Default: none. */
  ownFolders?: readonly string[];
  /** From 0 to 1; spreads repeated requests. */
  random?: () => number;
  /** Requests to one host at once, of all connections together. Default 16. */
  connectionsPerHost?: number;
  /** How hosts are connected to, in place of DNS and TLS. */
  connect?: buildConnector.connector | undefined;
}

/** Whose requests they are, and how they are authorized. */
export interface SourceOptions {
  spec: ConnectorSpec;
  config: unknown;
  /** Null for a probe before there is a connection. */
  connectionId: string | null;
  /** The OAuth app that budgets `per: 'application'` are counted by. Default: all connections of the provider share one. */
  application?: string;
  /** Null: requests are sent without. */
  authorization: Authorization | null;
  /** Ends every request and every wait. */
  signal: AbortSignal;
}

export interface SourceHttp {
  http: Http;
  /** See `Context.addresses`. */
  addresses(host: string): Promise<HostAddress[]>;
  ownFolders: readonly string[];
  /** The time by the source's clock, as far as its answers told. */
  now(): Date;
}

/** Everything that the requests of this process to sources share: connections, budgets, kept answers, figures. */
export interface Outbound {
  open(source: SourceOptions): SourceHttp;
  close(): Promise<void>;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const {
    database,
    clock,
    log,
    guard,
    metrics,
    random = Math.random,
    connectionsPerHost = 16,
    ownFolders = [],
    connect,
  } = options;
  const transport = createTransport({ guard, connectionsPerHost, connect });
  const budgets = createBudgets({ database, clock });
  const gates = new Map<string, Gate>();
  let sweeping = Promise.resolve();

  function gateOf(origin: string): Gate {
    let gate = gates.get(origin);
    if (!gate) {
      for (const [other, { empty }] of gates) if (empty) gates.delete(other);
      gates.set(origin, (gate = createGate(connectionsPerHost)));
    }
    return gate;
  }

  function open(source: SourceOptions): SourceHttp {
    const { spec, connectionId, signal } = source;
    sweeping = sweeping
      .then(() => budgets.sweep())
      .catch((error: unknown) => log.warn({ err: error }, 'unused request budgets could not be removed'));
    const sourceClock = createSourceClock(clock);
    const origins = createOrigins(spec, source.config, guard);
    const budgetsOf = budgets.matcher(limitsOf(spec, source.config), {
      provider: spec.name,
      connection: connectionId ?? `new ${randomUUID()}`,
      application: source.application ?? 'default',
    });
    const line = { provider: spec.name, clock, sourceClock, origins, transport, metrics, budgetsOf, gateOf };
    const { authorization } = source;
    const http = createHttp({
      perform: createPerform({ line, authorization, classify: spec.classify, random, log }),
      origins,
      kept: connectionId === null ? null : createKeptAnswers({ database, clock, connectionId, random }),
      userAgent: `memoryd ${spec.name}`,
      signal,
    });
    return { http, addresses: (host) => checkedAddresses(guard, host), ownFolders, now: sourceClock.now };
  }

  return {
    open,
    async close() {
      await sweeping;
      await transport.close();
    },
  };
}
