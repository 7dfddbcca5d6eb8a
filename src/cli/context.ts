import { styleText } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Config, ConfigRow, Environment } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import type { Connections } from '../connections/connection-service.ts';
import type { OpenedBrowser } from './open-browser.ts';

/** Everything a command touches outside itself. */
export interface CommandContext {
  version: string;
  env: Environment;
  /** Absolute. */
  cwd: string;
  clock: Clock;
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** Results. */
  stdout: Screen;
  /** Progress, notes and errors. */
  stderr: Screen;
  /** The whole standard input. */
  readInput(): Promise<Buffer>;
  /** Asks whoever sits at the terminal for one line; null when nobody does. */
  ask: ((question: string, options: { hidden: boolean }) => Promise<string>) | null;
  /** Null when there is no browser, or none could be started. */
  openBrowser(url: string): Promise<OpenedBrowser | null>;
  createApp(options: AppOptions): Promise<DaemonApp>;
  createEmbedder(options: AppOptions): Promise<TestableEmbedder>;
  /** The models that can be chosen with `memoryd models use`. */
  localModels(options: Pick<AppOptions, 'config'>): Promise<LocalModels>;
  /** Asks the language model one short question; answers its id, null when none is configured. */
  tryLanguageModel(options: AppOptions): Promise<string | null>;
  /** Seals every stored secret anew; needs the database for itself when it is the embedded one. */
  rotateKeys(options: AppOptions, discardUnreadable: boolean): Promise<RotationReport>;
}

export interface RotationReport {
  /** Id of the key that everything is sealed with now. */
  keyId: string;
  resealed: number;
  discarded: number;
}

export interface AppOptions {
  config: Config;
  /** The same for people, with where each value is from; absent: not shown by the API. */
  settings?: readonly ConfigRow[];
  clock: Clock;
  log: Logger;
}

/** Operations of `memoryd models` on the models of the data directory. */
export interface LocalModels {
  list(): Promise<ListedModel[]>;
  /** Gets a model from the hub that the configuration names. */
  pull(request: PullRequest): Promise<{ name: string }>;
  /** Tests a model and makes it the one that the daemon takes at its next start. */
  choose(name: string): Promise<void>;
}

export interface ListedModel {
  name: string;
  repository: string | null;
  languages: string | null;
  dimensions: number | null;
  license: string | null;
  bytes: number | null;
  installed: boolean;
  chosen: boolean;
}

export interface PullRequest {
  /** A name of the list, or `owner/name` of a repository. */
  model: string;
  revision?: string | undefined;
  modelFile?: string | undefined;
  signal: AbortSignal;
  onProgress(progress: { file: string; receivedBytes: number; totalBytes: number }): void;
}

/** The part of an embedder that `memoryd models verify` uses. */
interface TestableEmbedder {
  verify(): Promise<EmbedderReport>;
  close(): Promise<void>;
}

export interface EmbedderReport {
  id: string;
  /** The runtime that computes, e.g. `onnxruntime-node`. */
  runtime: string;
  ok: boolean;
  checks: { name: string; ok: boolean; detail: string }[];
}

/** The part of the application that `memoryd start` uses. */
export interface DaemonApp {
  /** Where the API listens, once started. */
  readonly url: string;
  /** The full key when this start generated it, else null. */
  readonly firstKey: string | null;
  /** A key for commands on this machine. */
  readonly localToken: string;
  readonly connections: Connections;
  /** An address that opens the console, once. */
  consoleLink(): Promise<string>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** One output stream. */
export interface Screen {
  write(text: string): void;
  /** Somebody looks at it. */
  readonly isTTY: boolean;
  readonly columns: number;
  /** Colours are wanted: a terminal, no NO_COLOR. */
  readonly color: boolean;
}

type Format = Parameters<typeof styleText>[0];

/** The text in a style, when the screen shows styles. */
export function paint(screen: Screen, format: Format, text: string): string {
  return screen.color ? styleText(format, text, { validateStream: false }) : text;
}

/** Columns that a line of a table may take: programs get it whole. */
export function roomOf(screen: Screen): number {
  return screen.isTTY ? screen.columns : Infinity;
}

export function printLine(screen: Screen, text = ''): void {
  screen.write(`${text}\n`);
}

export function printJson(screen: Screen, document: unknown): void {
  screen.write(`${JSON.stringify(document, null, 2)}\n`);
}
