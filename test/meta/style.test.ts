import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { listFiles, projectFolder, readFile } from '../support/imports-of.ts';

/** A rule over the lines of some files. `except` names the files that may break it, each with the reason in a comment. */
interface Rule {
  title: string;
  files: readonly string[];
  forbidden: RegExp;
  except?: readonly string[];
  /** Lines that must be found, and those that must not. */
  examples: { bad: string[]; good: string[] };
}

const source = listFiles('src/**/*.ts', 'connectors/**/*.ts');
const tests = listFiles('test/**/*.ts');
const code = [...source, ...tests, ...listFiles('bin/*', 'scripts/*.ts', 'bench/**/*.ts', 'fixtures/**/*.ts')];
const texts = [
  ...code,
  ...listFiles('src/**/*.sql', 'docs/**/*.md', 'connectors/**/*.md', '*.md', '*.json', '*.yml', 'Dockerfile'),
].filter((path) => path !== 'package-lock.json');

/** Written in halves, so that this file does not break its own rules. */
const promises = ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK', 'not imple' + 'mented'];
const places = ['/wo' + 'rk/', '/ro' + 'ot/', '/ho' + 'me/', '/Us' + 'ers/'];

const rules: Rule[] = [
  {
    title: 'promises in place of work',
    files: texts,
    forbidden: new RegExp(`\\b(${promises.join('|')})\\b`),
    examples: { bad: [`// ${promises[0]}: later`], good: ['const hacker = 1;'] },
  },
  {
    title: 'paths of the machine that it was written on',
    files: texts,
    forbidden: new RegExp(`(^|[\\s'"\`(=:])(${places.join('|')})`),
    // What a path may look like is the subject of these.
    except: ['docs/production.md'],
    examples: { bad: [`const folder = '${places[0]}main';`], good: ["import '../home/a.ts'", 'src/network/x'] },
  },
  {
    title: 'a fixed temporary folder (os.tmpdir() knows the right one)',
    files: source,
    forbidden: /['"`]\/tmp\b/,
    examples: { bad: ["join('/tmp', name)"], good: ["join(tmpdir(), 'x')"] },
  },
  {
    title: 'reading the environment (configuration is one schema)',
    files: source,
    forbidden: /\bprocess\.env\b/,
    except: ['src/base/config.ts'],
    examples: { bad: ["process.env['PORT']"], good: ['process.environment'] },
  },
  {
    title: 'reading the machine’s time (the clock is a parameter)',
    files: source,
    forbidden: /\bDate\.now\(|\bnew Date\(\)/,
    except: [
      'src/base/clock.ts',
      // The time of a log line is that of the machine.
      'src/base/log.ts',
    ],
    examples: { bad: ['Date.now()', 'new Date()'], good: ['new Date(text)', 'clock.now()'] },
  },
  {
    title: 'module mocks (inject the part, or use the real one)',
    files: tests,
    forbidden: /\bvi\.(mock|doMock)\(/,
    examples: { bad: ['vi.mo' + "ck('x')"], good: ['vi.fn()'] },
  },
  {
    title: 'tests that are skipped, alone or promised',
    files: tests,
    forbidden: /\b(it|test|describe|suite)(\.\w+)*\.(skip|only|todo|skipIf|runIf|fails)\b|\bctx\.skip\(/,
    // What a machine lacks is skipped there, and only outside CI.
    except: ['test/support/services.ts'],
    examples: { bad: ['it.sk' + "ip('x')", 'describe.sk' + "ipIf(a)('x')"], good: ["it('skips x')", 'suite.each([])'] },
  },
  {
    title: 'tests that are tried again',
    files: tests,
    forbidden: /\bretry:\s*[1-9]/,
    examples: { bad: ['{ retry: 2 }'], good: ['{ retry: 0 }', 'retryPauseMs: 5'] },
  },
];

function findLines(rule: Rule): string[] {
  const looked = rule.files.filter((path) => !rule.except?.includes(path) && path !== 'test/meta/style.test.ts');
  return looked.flatMap((path) =>
    readFile(path)
      .split('\n')
      .flatMap((line, index) =>
        rule.forbidden.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
      ),
  );
}

describe('style', () => {
  it('is looked at in all files', () => {
    expect(source.length).toBeGreaterThan(150);
    expect(tests.length).toBeGreaterThan(20);
    expect(texts.length).toBeGreaterThan(source.length + tests.length + 10);
    for (const path of rules.flatMap(({ except = [] }) => except)) expect(texts).toContain(path);
  });

  describe.each(rules)('$title', (rule) => {
    it('would be found', () => {
      for (const line of rule.examples.bad) expect(line).toMatch(rule.forbidden);
      for (const line of rule.examples.good) expect(line).not.toMatch(rule.forbidden);
    });

    it('stands nowhere', () => {
      expect(rule.files.length).toBeGreaterThan(20);
      expect(findLines(rule)).toEqual([]);
    });
  });

  it('keeps files under 400 lines', () => {
    const long = source
      // The contract is one file so that it can be read and published as one.
      .filter((path) => path !== 'src/connector/contract.ts')
      .map((path) => ({ path, lines: readFile(path).split('\n').length - 1 }))
      .filter(({ lines }) => lines > 400);
    expect(long).toEqual([]);
  });

  it('has no drawers for odds and ends', () => {
    const drawers = /(^|[/-])(utils?|helpers?|common|misc|manager)([/.-]|$)/;
    expect('src/base/string-utils.ts').toMatch(drawers);
    expect(code.filter((path) => drawers.test(path))).toEqual([]);
    expect(
      code.filter((path) => /(^|\/)index\.ts$/.test(path) && !/^connectors\/[^/]+\/index\.ts$/.test(path)),
    ).toEqual([]);
  });
});

describe('lock file', () => {
  const lock = JSON.parse(readFile('package-lock.json')) as {
    packages: Record<
      string,
      {
        resolved?: string;
        integrity?: string;
        os?: string[];
        optional?: boolean;
        hasInstallScript?: boolean;
        optionalDependencies?: Record<string, string>;
      }
    >;
  };
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

  it('names no registry', () => {
    expect(packages.length).toBeGreaterThan(200);
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('has a checksum for everything but packages of other platforms', () => {
    const unchecked = packages.filter(([, { integrity }]) => integrity === undefined);
    expect(unchecked.filter(([, { optional, os }]) => !optional || os === undefined)).toEqual([]);
  });

  it('mentions no install script that may not run (else: npm run lockfile)', () => {
    const { allowScripts } = JSON.parse(readFile('package.json')) as { allowScripts: Record<string, boolean> };
    const forbidden = Object.keys(allowScripts).filter((name) => !allowScripts[name]);
    expect(forbidden).toContain('onnxruntime-node');
    const mentioned = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
    expect(forbidden.filter((name) => mentioned.includes(`node_modules/${name}`))).toEqual([]);
  });

  it('is complete, so that `npm ci` takes it (else: node scripts/complete-lock-file.ts)', () => {
    const optional = packages.flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).map((name) => ({ path, name })),
    );
    expect(optional.length).toBeGreaterThan(50);
    const missing = optional.filter(
      ({ path, name }) => !lock.packages[`${path}/node_modules/${name}`] && !lock.packages[`node_modules/${name}`],
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});

describe('repository', () => {
  it('holds no build results, data or secrets', () => {
    const tracked = execFileSync('git', ['ls-files'], { cwd: projectFolder, encoding: 'utf8' }).trim().split('\n');
    expect(tracked.length).toBeGreaterThan(100);
    expect(
      tracked.filter((path) => /(^|\/)(node_modules|dist|coverage|\.memoryd)\/|\.(log|pem|key|env)$/.test(path)),
    ).toEqual([]);
  });
});
