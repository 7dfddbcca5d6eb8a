/**
 * Run it after `npm install` changed package-lock.json. It adds the optional packages for other platforms that npm left
 * out. npm does so when the registry in use does not serve them or when only this platform's are installed; `npm ci`
 * then refuses the lock file, on every platform. What it adds has a version and no checksum; npm fetches it only where
 * it fits.
 *
 * And it takes out that a package has an install script where `allowScripts` of package.json forbids it: npm before 11
 * does not know that field, and runs no script that the lock file does not mention. The one of onnxruntime-node would
 * download a CUDA build of 300 MB and fail offline; the CPU library is inside the package.
 */
import { readFileSync, writeFileSync } from 'node:fs';

interface Entry {
  version: string;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dev?: boolean;
  hasInstallScript?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
}

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const processors = ['arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'x64'];

/** Reads the platform from a name such as `@oxlint/binding-linux-x64-musl`. */
function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[/-]/);
  const os = words.find((word) => systems.includes(word));
  const cpu =
    words.find((word) => processors.includes(word)) ??
    (words.some((word) => word.startsWith('arm')) ? 'arm' : undefined);
  const libc = /musl/.test(name) ? 'musl' : /-gnu/.test(name) ? 'glibc' : undefined;
  if (!os || !cpu) throw new Error(`No platform is known for ${name}; add it to package-lock.json by hand.`);
  return { os: [os], cpu: [cpu], ...(os === 'linux' && libc ? { libc: [libc] } : {}) };
}

/** The fields in the order in which npm writes them. */
function lockedEntry(version: string, { cpu, libc, os }: Pick<Entry, 'os' | 'cpu' | 'libc'>, dev?: boolean): Entry {
  return {
    version,
    ...(cpu && { cpu }),
    ...(dev && { dev }),
    ...(libc && { libc }),
    optional: true,
    ...(os && { os }),
  };
}

/** The entries that are missing, by path. */
function missingEntries(packages: Record<string, Entry>): Record<string, Entry> {
  const missing: Record<string, Entry> = {};
  for (const [path, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (packages[`${path}/node_modules/${name}`] ?? packages[`node_modules/${name}`]) continue;
      missing[`node_modules/${name}`] = lockedEntry(version, platformOf(name), dev);
    }
  }
  return missing;
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Entry> };
const { allowScripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  allowScripts: Record<string, boolean>;
};
for (const [name, isAllowed] of Object.entries(allowScripts))
  if (!isAllowed) delete lock.packages[`node_modules/${name}`]?.hasInstallScript;
const missing = missingEntries(lock.packages);
const all = Object.entries({ ...lock.packages, ...missing });
lock.packages = Object.fromEntries(all.toSorted(([a], [b]) => a.localeCompare(b, 'en')));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${Object.keys(missing).length} packages of other platforms added to package-lock.json.`);
