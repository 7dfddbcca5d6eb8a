/** Milliseconds of processor time that a call takes: unlike time on the wall, other programs do not add to it. */
export function cpuMs(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
