import { describe, expect, it } from 'vitest';
import { keyOf } from '../../src/connector-kit/check.ts';
import { checks } from '../../src/connector-kit/test-connector.ts';
import { readFile } from '../support/imports-of.ts';

const page = readFile('docs/connectors/acceptance-kit.md');

describe('the acceptance kit', () => {
  it('has all 24 checks', () => {
    expect([...new Set(checks.map(({ number }) => number))]).toEqual(
      Array.from({ length: 24 }, (_, index) => index + 1),
    );
    expect(new Set(checks.map(keyOf)).size).toBe(checks.length);
  });

  it('is documented: every check with its title, in order', () => {
    const [, table = ''] = /<!-- checks: begin -->([\s\S]*)<!-- checks: end -->/.exec(page) ?? [];
    const rows = [...table.matchAll(/^\| `(\d+ [\w-]+)`\s*\| (.+?)\s*\|$/gm)].map(([, key, title]) => [key, title]);
    expect(rows).toEqual(checks.map((check) => [keyOf(check), check.title]));
  });

  it('is documented: every member of a world', () => {
    const source = readFile('src/connector-kit/world.ts');
    const [, body = ''] = /export interface World \{([\s\S]*?)\n\}/.exec(source) ?? [];
    const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1]!);
    expect(members.length).toBeGreaterThan(20);
    expect(members.filter((name) => !new RegExp(`\`${name}\\b`).test(page))).toEqual([]);
  });
});
