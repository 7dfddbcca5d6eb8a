const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A size as people read it: `1 byte`, `512 bytes`, `8 MiB`, `1.5 GiB`. Between two steps it is the smaller one. */
export function readableBytes(bytes: number): string {
  if (bytes === 1) return '1 byte';
  let unit = 0;
  let size = bytes;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${Math.floor(size * 10) / 10} ${units[unit]}`;
}
