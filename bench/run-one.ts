/** One benchmark in a process of its own: `fork`ed by run.ts with a name, an engine and, for fewer items, `quick`. */
import { benchmarks } from './benchmarks.ts';
import type { Engine } from './databases.ts';

const [name, engine, size] = process.argv.slice(2);
const figures = await benchmarks[name!]!.run(engine as Engine, size === 'quick');
process.send!(figures, () => process.disconnect());
