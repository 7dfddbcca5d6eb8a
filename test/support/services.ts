import { describe } from 'vitest';

/**
 * A suite that needs a real service, whose address stands in an environment variable. Without it
 * the suite is skipped on a developer's machine and fails in CI, where every suite must run.
 */
export function describeWithService(
  variable: 'DATABASE_URL' | 'REDIS_URL' | 'IMAP_HOST',
  title: string,
  suite: (address: string) => void,
): void {
  describeWhen(process.env[variable], `${variable} is not set`, title, suite);
}

/** The same for anything else that a machine may lack, such as a program. The title of what is skipped says why. */
export function describeWhen<Thing>(
  thing: Thing | undefined,
  whyNot: string,
  title: string,
  suite: (thing: Thing) => void,
): void {
  if (thing !== undefined) return void describe(title, () => suite(thing));
  if (process.env['CI']) throw new Error(`Every suite must run in CI, but ${whyNot}.`);
  describe.skip(`${title} (${whyNot})`, () => suite(thing!));
}
