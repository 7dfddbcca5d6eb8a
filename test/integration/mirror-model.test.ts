import { testMirrorModel } from '../support/mirror-model.ts';

testMirrorModel('pglite', { programs: 550, file: 'mirror-model.test.ts' });
