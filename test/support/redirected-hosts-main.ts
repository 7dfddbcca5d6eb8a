/**
 * Loaded before the program (`--import`): connections to the hosts of `REDIRECTED_HOSTS`, a JSON object of addresses
 * on this machine by host, go to those addresses, without DNS and TLS. To other hosts there are none.
 */
import net from 'node:net';
import tls from 'node:tls';
import { syncBuiltinESMExports } from 'node:module';

const hosts = JSON.parse(process.env['REDIRECTED_HOSTS'] ?? '{}') as Record<string, string>;

tls.connect = ((options: { host?: string; servername?: string }) => {
  const address = URL.parse(hosts[options.servername ?? options.host ?? ''] ?? '');
  if (address === null) throw new Error('No address stands for this host.');
  const socket = net.connect(Number(address.port), address.hostname);
  socket.once('connect', () => socket.emit('secureConnect'));
  return socket;
}) as unknown as typeof tls.connect;
syncBuiltinESMExports();
