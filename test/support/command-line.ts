import { setImmediate as nextTurn } from 'node:timers/promises';
import { runCommandLine } from '../../src/cli/program.ts';
import type { CommandContext, Screen } from '../../src/cli/context.ts';
import type { Clock } from '../../src/base/clock.ts';

export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** A clock on which waiting takes no time. `onSleep` runs at each wait. */
export function createJumpingClock(onSleep: () => void = () => {}): Clock {
  let time = Date.parse('2026-03-01T09:00:00.000Z');
  return {
    now: () => new Date(time),
    async sleep(ms) {
      time += ms;
      onSleep();
      // Who sleeps again and again lets others have their turn.
      await nextTurn();
    },
  };
}

export function createScreen(options: Partial<Screen> = {}): Screen & { text(): string } {
  let text = '';
  return {
    write: (part) => void (text += part),
    text: () => text,
    isTTY: false,
    columns: 100,
    color: false,
    ...options,
  };
}

/** Runs a command line in this process and keeps what it prints. */
export async function runCommand(
  args: readonly string[],
  overrides: Partial<CommandContext> = {},
): Promise<CommandResult> {
  const stdout = createScreen(overrides.stdout);
  const stderr = createScreen(overrides.stderr);
  const unused = () => Promise.reject(new Error('not given by this test'));
  const exitCode = await runCommandLine(args, {
    version: '1.2.3',
    env: {},
    cwd: '/nowhere',
    clock: createJumpingClock(),
    signal: new AbortController().signal,
    readInput: unused,
    ask: null,
    openBrowser: async () => null,
    createApp: unused,
    createEmbedder: unused,
    localModels: unused,
    tryLanguageModel: async () => null,
    rotateKeys: unused,
    ...overrides,
    stdout,
    stderr,
  });
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}
