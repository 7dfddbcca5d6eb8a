import { attackScopes } from './scope-matrix.ts';
import { attackSchemas } from './schema-fuzz.ts';
import { attackOutbound } from './outbound.ts';
import { attackSpecially } from './special.ts';
import { attackWithBombs } from './bombs.ts';
import { openSlowClients } from './slow-clients.ts';
import { canary, openTarget, type Target } from './target.ts';
import { watchDaemon, type Seen } from './watch.ts';

export interface AttackOptions {
  /** About so many; the matrix of keys and the bombs come on top. */
  requests: number;
  /** Bytes and levels of bombs. */
  bombSize: number;
  /** Slow clients of each kind that are there all the time. */
  slowClients: number;
  seed: number;
  say(line: string): void;
}

export interface AttackResult extends Seen {
  requests: number;
  statuses: ReadonlyMap<number, number>;
  /** What was not answered as it should, each kind once. */
  faults: string[];
}

/** Attacks a daemon of its own with default settings, one way after the other. */
export async function runAttack(options: AttackOptions): Promise<AttackResult> {
  const target = await openTarget();
  const faults = new Set<string>();
  const report = (fault: string) => {
    if (faults.size < 200 && !faults.has(fault)) options.say(`  ${fault}`);
    faults.add(fault);
  };
  const watch = watchDaemon(target.daemon);
  const endSlow = openSlowClients(target.daemon, {
    each: options.slowClients,
    events: eventsOf(target),
  });
  const phase = async (name: string, run: () => Promise<void>) => {
    const [start, before] = [performance.now(), target.sender.total];
    await run();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const peakMb = (await watch.peakMb())?.toFixed(0) ?? '?';
    options.say(`${name}: ${target.sender.total - before} requests in ${seconds} s, most memory ${peakMb} MB`);
  };
  const { requests, bombSize, seed } = options;
  let seen: Seen;
  try {
    await phase('scopes', () => attackScopes(target, report));
    await checkUnharmed(target, report);
    await phase('redirects and names', () => attackOutbound(target, report));
    await phase('bombs', () => attackWithBombs(target, bombSize, report));
    await phase('hooks, MCP, headers', () =>
      attackSpecially(target, { requests: Math.ceil(requests / 5), seed }, report),
    );
    await phase('schemas', () => attackSchemas(target, { requests: Math.ceil((requests * 4) / 5), seed }, report));
    if (target.daemon.hasEnded()) report('the daemon has ended');
    const left = new Set(target.daemon.output().match(/left the machine: .*/g));
    for (const line of left) report(line);
  } finally {
    endSlow();
    seen = await watch.end();
    await target.stop();
  }
  return { ...seen, requests: target.sender.total, statuses: target.sender.statuses, faults: [...faults] };
}

function eventsOf({ known }: Target): string {
  return `/v3/connections/${known['connectionId']![0]}/runs/${known['runId']![0]}/events`;
}

/** After everybody but the owner had a try, what is stored is what was stored. */
async function checkUnharmed({ sender, keys }: Target, report: (fault: string) => void): Promise<void> {
  const { text } = await sender.send({ method: 'GET', path: '/ns/known/document/mira', key: keys.full });
  if (!text.includes(canary)) report('somebody without the right changed or removed a document');
}
