import { lstat, stat, type Stats } from 'node:fs';
import { toFilePath } from './names.ts';

/** Facts of the file system about one path. */
export interface FileFacts {
  kind: 'file' | 'folder' | 'link' | 'other';
  bytes: number;
  /** Milliseconds with a fraction: resolves about a quarter of a microsecond. */
  modifiedMs: number;
  /** When anything about it changed last, also its permissions or its name. */
  changedMs: number;
  /** 0 where the file system keeps no birth time. */
  bornMs: number;
  device: number | bigint;
  inode: number | bigint;
}

/** Facts about a path in text form, about the link itself unless `followLink`. Throws the system's errors. */
export function readFacts(path: string, followLink = false): Promise<FileFacts> {
  return new Promise((resolve, reject) => {
    lookAt(path, followLink, (result) => (result instanceof Error ? reject(result) : resolve(result)));
  });
}

/** `readFacts` by callback, for many files: the promises of `fs/promises` cost a listing half its time again. */
export function lookAt(path: string, followLink: boolean, done: (result: FileFacts | Error) => void): void {
  const read = followLink ? stat : lstat;
  const filePath = toFilePath(path);
  read(filePath, (error, stats) => {
    if (error !== null) return done(error);
    if (Number.isSafeInteger(stats.ino)) return done(toFacts(stats));
    // Windows and some network file systems number files beyond what a double can tell apart. Asking
    // for exact numbers at once would double the cost of every listing elsewhere.
    return read(filePath, { bigint: true }, (exactError, exact) => {
      done(exactError ?? { ...toFacts(stats), device: exact.dev, inode: exact.ino });
    });
  });
}

export function toFacts(stats: Stats): FileFacts {
  return {
    kind: kindOf(stats),
    bytes: stats.size,
    modifiedMs: stats.mtimeMs,
    changedMs: stats.ctimeMs,
    bornMs: Math.max(stats.birthtimeMs, 0),
    device: stats.dev,
    inode: stats.ino,
  };
}

function kindOf(stats: Stats): FileFacts['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
