/** Whether this is `npm run test:long`: more programs, kills and items than `npm test` takes. */
const isLong = process.env['TEST_LENGTH'] === 'long';

/** How much a test does. The short form must find the same kinds of faults. */
export function sized<Amount>(short: Amount, long: Amount): Amount {
  return isLong ? long : short;
}
