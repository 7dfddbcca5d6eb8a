/** A stream of numbers in [0, 1) that is the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A number of the normal distribution. */
function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Unit vectors in clusters, as texts about a number of topics have them. */
export function createVectors(random: () => number, options: { dimensions: number; clusters: number; spread: number }) {
  const { dimensions, clusters, spread } = options;
  const centers = Array.from({ length: clusters }, () => Array.from({ length: dimensions }, () => gaussian(random)));
  return (cluster = Math.floor(random() * clusters)): number[] => {
    const vector = centers[cluster % clusters]!.map((value) => value + spread * gaussian(random));
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
}
