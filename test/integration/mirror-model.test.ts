import { sized } from '../support/length.ts';
import { testMirrorModel } from '../support/mirror-model.ts';

testMirrorModel('pglite', { programs: sized(120, 1_000), file: 'mirror-model.test.ts' });
