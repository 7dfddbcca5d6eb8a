import { testMirrorModel } from '../support/mirror-model.ts';

/** The same with other programs, in a file of its own so that two processes share the work. */
testMirrorModel('pglite', { programs: 450, file: 'mirror-model-further.test.ts' });
