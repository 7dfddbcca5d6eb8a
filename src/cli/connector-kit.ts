import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { CommandContext } from './context.ts';
import { CommandFailure, exitCodes } from './exit.ts';

/** Runs the tests of a connector's package through Vitest. Answers whether they passed. */
export async function runKit(folder: string, law: string | null, context: CommandContext): Promise<boolean> {
  const parameters = [vitestOf(folder), 'run', '--root', folder];
  if (law !== null) parameters.push('--testNamePattern', `law ${law} `);
  const child = spawn(process.execPath, parameters, {
    cwd: folder,
    env: { ...context.env },
    stdio: ['ignore', ...(context.stdout.isTTY ? (['inherit', 'inherit'] as const) : (['pipe', 'pipe'] as const))],
  });
  child.stdout?.on('data', (part: Buffer) => context.stdout.write(part.toString('utf8')));
  child.stderr?.on('data', (part: Buffer) => context.stderr.write(part.toString('utf8')));
  const stop = () => child.kill('SIGTERM');
  context.signal.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise<boolean>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code === 0));
    });
  } finally {
    context.signal.removeEventListener('abort', stop);
  }
}

/** The package's own Vitest, else the one beside memoryd. */
function vitestOf(folder: string): string {
  for (const from of [join(folder, 'package.json'), import.meta.url]) {
    try {
      const file = createRequire(from).resolve('vitest/package.json');
      return join(dirname(file), 'vitest.mjs');
    } catch {
      continue;
    }
  }
  throw new CommandFailure(exitCodes.usage, 'Vitest is not installed.', {
    remedy: `Run \`npm install --save-dev vitest\` in ${folder}.`,
  });
}
