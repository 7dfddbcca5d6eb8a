import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A network between a daemon and a server on this machine, which can be cut. */
export interface CuttingProxy {
  readonly port: number;
  /** Every connection breaks, and none is made until `mend`. */
  cut(): void;
  mend(): void;
  /** The server answers on another port from now on. */
  leadTo(port: number): void;
  close(): Promise<void>;
}

export async function startCuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let target = serverPort;
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const breakAll = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      breakAll();
    },
    mend: () => void (isCut = false),
    leadTo: (port) => void (target = port),
    async close() {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
