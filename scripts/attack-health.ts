/** A thread of `npm run attack`: asks the address it is given all the time, and tells how long each answer took when it is asked. */
import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';

const everyMs = 25;
const times: number[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let isOver = false;

parentPort!.once('message', () => (isOver = true));
while (!isOver) {
  const start = performance.now();
  await new Promise<void>((resolve) => {
    const sent = request(workerData as string, { agent }, (response) => response.resume().on('end', resolve));
    sent.on('error', () => resolve());
    sent.end();
  });
  times.push(performance.now() - start);
  await sleep(everyMs);
}
agent.destroy();
parentPort!.postMessage(times);
