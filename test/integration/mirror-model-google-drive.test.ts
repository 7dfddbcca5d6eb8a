import { sized } from '../support/length.ts';
import { testWorldModel } from '../support/mirror-model.ts';

testWorldModel('google-drive', { programs: sized(60, 200), file: 'mirror-model-google-drive.test.ts' });
