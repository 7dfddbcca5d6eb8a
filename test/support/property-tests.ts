import fc from 'fast-check';

/**
 * Each run draws the same programs, so that a change fails for what it changed. With `PROPERTY_SEED`, a number or
 * `random`, it draws others. A failure ends its property at once and names its seed and path: with `PROPERTY_SHRINK`
 * set it is made small first, which may take longer than the test has.
 */
const wanted = process.env['PROPERTY_SEED'] ?? '20261122';

fc.configureGlobal({
  endOnFailure: process.env['PROPERTY_SHRINK'] === undefined,
  ...(wanted !== 'random' && { seed: Number(wanted) }),
});
