import { sized } from '../support/length.ts';
import { testMirrorModel } from '../support/mirror-model.ts';
import { describeWithService } from '../support/services.ts';

describeWithService('DATABASE_URL', 'on a server', () => {
  testMirrorModel('postgres', { programs: sized(80, 150), file: 'mirror-model-postgres.test.ts' });
});
