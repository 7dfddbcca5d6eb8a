import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Milliseconds that one test of each kind may take on a busy machine with two cores. */
const timeoutsMs = {
  meta: 60_000,
  unit: 30_000,
  contract: 30_000,
  integration: 60_000,
  e2e: 120_000,
};

const inCi = process.env['CI'] !== undefined;

export default defineConfig(({ mode }) => ({
  test: {
    pool: 'forks',
    // One more than the cores that timeouts are for: tests also wait for processes, leases and sources.
    maxWorkers: 3,
    retry: 0,
    allowOnly: !inCi,
    passWithNoTests: false,
    globalSetup: ['test/support/leaked-processes.ts', 'test/support/leftover-databases.ts'],
    projects: Object.entries(timeoutsMs).map(([name, timeoutMs]) => ({
      extends: true,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        // Modules hold no state, so that files can share a process with all that it has loaded.
        isolate: name === 'e2e',
        setupFiles: ['test/support/property-tests.ts'],
        // Here, because a project reads the rest of this file for a mode of its own.
        env: {
          TEST_LENGTH: mode === 'long' ? 'long' : 'short',
          // Threads and programs that tests start compile what they load once.
          NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/memoryd/test-code'),
        },
        testTimeout: timeoutMs,
        hookTimeout: timeoutMs,
        teardownTimeout: 10_000,
        // A condition that comes true late is no failure on a machine that has other work.
        expect: { poll: { timeout: timeoutMs / 2, interval: 20 } },
      },
    })),
  },
}));
