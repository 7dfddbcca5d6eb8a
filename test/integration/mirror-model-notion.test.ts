import { testWorldModel } from '../support/mirror-model.ts';

testWorldModel('notion', { programs: 200, file: 'mirror-model-notion.test.ts' });
