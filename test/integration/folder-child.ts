/** A process of its own that runs one verb of the folder connector and prints the result or the error as JSON. */
import { closeSync, openSync } from 'node:fs';
import { ConnectorError } from 'memoryd/connector';
import type { FolderConfig } from '../../connectors/folder/config.ts';
import folder from '../../connectors/folder/index.ts';
import { createContext, listAll } from './folder-fixture.ts';

const task = JSON.parse(process.argv[2]!) as { config: FolderConfig; verb: string; ids?: string[] };
const abort = new AbortController();
const ctx = createContext(task.config, { signal: abort.signal });

try {
  console.log(JSON.stringify(await run()));
} catch (error) {
  if (!ConnectorError.is(error)) throw error;
  console.log(JSON.stringify({ error: { kind: error.kind, message: error.message, remedy: error.remedy } }));
}

async function run(): Promise<unknown> {
  if (task.verb === 'check') return folder.check(ctx);
  if (task.verb === 'watch without files') return watchWithoutFiles();
  const [partition] = await folder.partitions(ctx);
  if (task.verb === 'list') return listAll(ctx, partition!.id);
  if (task.verb === 'lookup') return folder.lookup!(ctx, partition!, task.ids!);
  return folder.fetch(ctx, partition!, { id: task.ids![0]!, rev: '' });
}

/** With every file descriptor in use the system refuses to watch. */
async function watchWithoutFiles(): Promise<unknown> {
  const files = useUpFiles();
  const checks = await folder.check(ctx);
  const hints: unknown[] = [];
  await folder.watch!(ctx, (hint) => {
    hints.push(hint);
    if (hints.length === 2) abort.abort();
  });
  for (const file of files) closeSync(file);
  return { checks, hints, lines: ctx.lines };
}

function useUpFiles(): number[] {
  const files: number[] = [];
  for (;;) {
    try {
      files.push(openSync('/dev/null', 'r'));
    } catch {
      return files;
    }
  }
}
