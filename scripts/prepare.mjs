/**
 * Builds the console, packs the database of a first start and makes the program after `npm install` in a clone. An
 * installation without development dependencies needs none of it: the package brings all three along. Plain JavaScript,
 * because any Node may run it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('../', import.meta.url));
const page = fileURLToPath(new URL('../console/index.html', import.meta.url));
const vite = fileURLToPath(new URL('../node_modules/vite/bin/vite.js', import.meta.url));

if (existsSync(vite) && existsSync(page)) {
  const { status } = spawnSync(process.execPath, [vite, 'build', 'console', '--logLevel', 'warn'], {
    cwd: project,
    stdio: 'inherit',
  });
  if (status !== 0)
    console.error('The page at / was not built. Everything else works; `npm run build:console` tries again.');
}

// The Node of the clone runs TypeScript; the one that runs this may not.
const node = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

function runScript(name, otherwise) {
  const script = fileURLToPath(new URL(name, import.meta.url));
  if (!existsSync(node) || !existsSync(script)) return;
  const { status } = spawnSync(node, [script], { cwd: project, stdio: 'inherit' });
  if (status !== 0) console.error(otherwise);
}

runScript('prepare-cluster.ts', 'The database of a first start was not packed: each first start makes its own.');
runScript('bundle-program.ts', 'The program was not made: `npm start` runs the sources, which takes longer.');
