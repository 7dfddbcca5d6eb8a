import { testWorldModel } from '../support/mirror-model.ts';

testWorldModel('google-drive', { programs: 200, file: 'mirror-model-google-drive.test.ts' });
