/**
 * What the attacked program takes for the internet: a public address whose connections end at this machine, and names
 * whose answers change from one look-up to the next. The last answer holds from then on.
 */
export const played = { publicAddress: '11.0.0.1', loopbackAddress: '127.0.0.2' };

const { publicAddress } = played;

export const playedNames: Readonly<Record<string, string[][]>> = {
  'public.attack.test': [[publicAddress]],
  /** Once public, then this machine. */
  'turning.attack.test': [[publicAddress], ['127.0.0.1']],
  /** Public and this machine at once, in either order. */
  'mixed.attack.test': [
    [publicAddress, '127.0.0.1'],
    ['127.0.0.1', publicAddress],
  ],
  'private.attack.test': [['127.0.0.1']],
  'mapped.attack.test': [['::ffff:127.0.0.1']],
  'cloud.attack.test': [['169.254.169.254']],
};
