import type { FastifyReply } from 'fastify';

/** Aborts when the client goes away before it has the answer: work for it is work for nobody. */
export function abortOnDisconnect(reply: FastifyReply<any, any, any, any, any, any, any, any>): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
