/**
 *     node scripts/eval.ts [--set PATH …] [--granularity turn|session] [--mode MODE …] [--rerank] [--json FILE] [--remarks]
 *
 * Measures search and memories through the HTTP API of a daemon that it starts, with default settings and an
 * embedded database, on the sets in fixtures/memory or those named. docs/evaluation.md describes layouts and
 * figures. `--rerank` also searches with `rerank`; `--remarks` prints each statement that differs from its label.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { modes, startClient, type Client, type Mode, type Way } from './eval/client.ts';
import { measureProfiles, measureSentences, measureUpdates } from './eval/memory-sets.ts';
import { printFigures, type Figure } from './eval/report.ts';
import { measureBeir, measureConversations, type Granularity } from './eval/retrieval.ts';
import { loadSets, type EvalSet } from './eval/sets.ts';
import { readArguments } from './read-arguments.ts';

const { values } = readArguments(import.meta.filename, {
  options: {
    set: { type: 'string', multiple: true, default: [join(import.meta.dirname, '../fixtures/memory')] },
    granularity: { type: 'string' },
    mode: { type: 'string', multiple: true, default: [...modes] },
    rerank: { type: 'boolean', default: false },
    json: { type: 'string' },
    remarks: { type: 'boolean', default: false },
  },
});
if (values.granularity !== undefined && !['turn', 'session'].includes(values.granularity)) {
  console.error('--granularity is turn or session.');
  process.exit(2);
}
if (values.mode.some((mode) => !(modes as readonly string[]).includes(mode))) {
  console.error(`--mode is ${modes.join(', ')}.`);
  process.exit(2);
}
const ways = values.mode.flatMap((mode): Way[] =>
  (values.rerank ? [false, true] : [false]).map((rerank) => ({ mode: mode as Mode, rerank })),
);
const granularities =
  values.granularity === undefined ? (['turn', 'session'] as const) : [values.granularity as Granularity];

const sets = (await Promise.all(values.set.map(loadSets))).flat();
const client = await startClient();
const figures: Figure[] = [];
try {
  for (const set of sets) {
    const measured = await measure(client, set);
    printFigures(measured);
    figures.push(...measured);
  }
} finally {
  await client.stop();
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(figures, null, 2)}\n`);

async function measure(of: Client, set: EvalSet): Promise<Figure[]> {
  const remark = (text: string) => {
    if (values.remarks) console.log(`  ${text}`);
  };
  switch (set.layout) {
    case 'conversations': {
      const found: Figure[] = [];
      for (const granularity of granularities)
        found.push(...(await measureConversations(of, set.name, set, { granularity, ways })));
      return found;
    }
    case 'beir':
      return measureBeir(of, set.name, set, ways);
    case 'sentences':
      return measureSentences(of, set.name, set, remark);
    case 'updates':
      return measureUpdates(of, set.name, set, remark);
    case 'profiles':
      return measureProfiles(of, set.name, set, remark);
  }
}
