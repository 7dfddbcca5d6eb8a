import { sized } from '../support/length.ts';
import { testWorldModel } from '../support/mirror-model.ts';

testWorldModel('notion', { programs: sized(60, 200), file: 'mirror-model-notion.test.ts' });
