/** A process of its own that lists a small and a large folder and prints what each listing cost. */
import { listPage, type ListCursor } from '../../connectors/folder/list.ts';
import { createContext } from './folder-fixture.ts';

const [small, large] = process.argv.slice(2);
console.log(JSON.stringify({ small: await measure(small!), large: await measure(large!) }));

async function measure(root: string): Promise<object> {
  const ctx = createContext({ path: root });
  const rss = process.memoryUsage.rss();
  const cpu = process.cpuUsage();
  const started = performance.now();
  const cost = { refs: 0, pages: 0, grownMb: 0 };
  let from: ListCursor | undefined;
  do {
    const page = await listPage(ctx, { id: root }, from);
    cost.refs += page.refs.length;
    cost.pages++;
    cost.grownMb = Math.max(cost.grownMb, (process.memoryUsage.rss() - rss) / 1e6);
    from = page.next;
  } while (from !== undefined);
  const { user, system } = process.cpuUsage(cpu);
  return { ...cost, cpuMs: (user + system) / 1_000, wallMs: performance.now() - started };
}
