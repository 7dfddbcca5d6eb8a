/** A fault that is planted into a copy of the tree, to see whether a suite notices. */
export interface Mutant {
  /** Below the folder of its set. */
  file: string;
  /** Stands in the file once. */
  find: string;
  replace: string;
  /** Whether it loses, hides or wrongly deletes what a source holds: none of these may survive. */
  loses: boolean;
  /** In place of those of its set, and in their long form. */
  suites?: readonly string[];
}

export interface MutantSet {
  area: string;
  /** The smallest first: the first one that fails is enough. */
  suites: readonly string[];
  /** Those of the suites that are tried before all others for a file, by its name. */
  near: Readonly<Record<string, readonly string[]>>;
  mutants: readonly Mutant[];
}
