import { lstat, readdir } from 'node:fs';

/** As many as the folder connector. */
const looksAtOnce = 32;

/** Every file below the folder, each looked at; 32 calls of the file system at once. */
export function walk(root: string): Promise<string[]> {
  const paths: string[] = [];
  const left: { path: string; isFolder: boolean }[] = [{ path: root, isFolder: true }];
  let running = 0;
  return new Promise((resolve, reject) => {
    function done(error: Error | null): void {
      if (error) return reject(error);
      running--;
      start();
    }
    function start(): void {
      while (running < looksAtOnce && left.length > 0) {
        const { path, isFolder } = left.pop()!;
        running++;
        if (isFolder) readFolder(path);
        else lookAt(path);
      }
      if (running === 0) resolve(paths);
    }
    function readFolder(path: string): void {
      readdir(path, { withFileTypes: true }, (error, entries) => {
        for (const entry of entries ?? []) left.push({ path: `${path}/${entry.name}`, isFolder: entry.isDirectory() });
        done(error);
      });
    }
    function lookAt(path: string): void {
      lstat(path, (error) => {
        paths.push(path);
        done(error);
      });
    }
    start();
  });
}
