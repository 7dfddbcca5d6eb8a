import { testWorldModel } from '../support/mirror-model.ts';

testWorldModel('gmail', { programs: 200, file: 'mirror-model-gmail.test.ts' });
