/**
 * Builds the console and packs the database of a first start after `npm install` in a clone. An installation without
 * development dependencies needs neither: the package brings both along. Plain JavaScript, because any Node may run it.
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
const cluster = fileURLToPath(new URL('prepare-cluster.ts', import.meta.url));

if (existsSync(node) && existsSync(cluster)) {
  const { status } = spawnSync(node, [cluster], { cwd: project, stdio: 'inherit' });
  if (status !== 0) console.error('The database of a first start was not packed: each first start makes its own.');
}
