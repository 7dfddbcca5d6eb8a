import { sized } from '../support/length.ts';
import { testWorldModel } from '../support/mirror-model.ts';

testWorldModel('gmail', { programs: sized(60, 200), file: 'mirror-model-gmail.test.ts' });
