import { connect, type Socket } from 'node:net';

/**
 * Clients that send a byte now and then, or never read what they ask for, events of a run among it: they stay while
 * others attack. Answers what ends them.
 */
export function openSlowClients(
  { url, key }: { url: string; key: string },
  { each, events }: { each: number; /** Path of server-sent events. */ events: string },
): () => void {
  const { port } = new URL(url);
  const sockets: Socket[] = [];
  const timers: NodeJS.Timeout[] = [];
  const authorized = `host: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n`;
  const open = (start: string, more: string | null) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(start);
    sockets.push(socket);
    if (more !== null) timers.push(setInterval(() => socket.writable && socket.write(more), 1_000));
    return socket;
  };
  for (let count = 0; count < each; count++) {
    open(`GET /health HTTP/1.1\r\nhost: a\r\nx-slow: `, 'a');
    open(
      `POST /v3/documents HTTP/1.1\r\n${authorized}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{`,
      ' ',
    );
    open(`POST /v3/hooks/push HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 100000\r\n\r\n{`, ' ');
    open(`GET /openapi.json HTTP/1.1\r\n${authorized}\r\n`.repeat(20), null).pause();
    open(`GET ${events} HTTP/1.1\r\n${authorized}\r\n`, null).pause();
  }
  return () => {
    for (const timer of timers) clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
}
