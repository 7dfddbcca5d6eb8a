import { testMirrorModel } from '../support/mirror-model.ts';
import { describeWithService } from '../support/services.ts';

describeWithService('DATABASE_URL', 'on a server', () => {
  testMirrorModel('postgres', { programs: 150, file: 'mirror-model-postgres.test.ts' });
});
