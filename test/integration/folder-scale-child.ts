/** A process of its own that lists a small and a large folder and prints what each listing cost. */
import { listPage, type ListCursor } from '../../connectors/folder/list.ts';
import { createContext } from './folder-fixture.ts';

if (gc === undefined) throw new Error('Start it with --expose-gc: what garbage fills says nothing of what is held.');
const collect = gc;
const [small, large] = process.argv.slice(2);
console.log(JSON.stringify({ small: await measure(small!), large: await measure(large!) }));

async function measure(root: string): Promise<object> {
  const ctx = createContext({ path: root });
  const before = heldBytes();
  const cpu = process.cpuUsage();
  const cost = { refs: 0, pages: 0, heldMb: 0 };
  let from: ListCursor | undefined;
  do {
    const page = await listPage(ctx, { id: root }, from);
    cost.refs += page.refs.length;
    cost.pages++;
    from = page.next;
    if (cost.pages % 10 === 5) cost.heldMb = Math.max(cost.heldMb, (heldBytes() - before) / 1e6);
  } while (from !== undefined);
  const { user, system } = process.cpuUsage(cpu);
  return { ...cost, cpuMs: (user + system) / 1_000 };
}

/** What is reachable, inside and outside the heap: the process's own size depends on when V8 chose to collect. */
function heldBytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
