import { connect } from 'node:net';
import type { buildConnector } from 'undici';
import type { AuthSpec, Connector } from '../connector/contract.ts';

type Hosts = Readonly<Record<string, string>>;

/** Connects to the address that stands for a host, without DNS and TLS; to no other host. */
export function connectorTo(hosts: Hosts): buildConnector.connector {
  return ({ hostname }, callback) => {
    const address = hosts[hostname];
    if (address === undefined) return callback(new Error(`No address stands for the host ${hostname}.`), null);
    const url = new URL(address);
    const socket = connect(Number(url.port), url.hostname);
    socket.once('error', (error) => callback(error, null));
    socket.once('connect', () => callback(null, socket));
  };
}

/** A connector whose tokens come from the address that stands for the host of its token endpoint. */
export function withTokensFrom(connector: Connector<any, any>, hosts: Hosts): Connector<any, any> {
  const auth = connector.spec.auth.map((one): AuthSpec => ('tokenUrl' in one ? rehosted(one, hosts) : one));
  return { ...connector, spec: { ...connector.spec, auth } };
}

function rehosted<Auth extends { tokenUrl: string }>(auth: Auth, hosts: Hosts): Auth {
  const { hostname, pathname } = URL.parse(auth.tokenUrl) ?? { hostname: '', pathname: '' };
  const address = hosts[hostname];
  return address === undefined ? auth : { ...auth, tokenUrl: `${address}${pathname}` };
}
