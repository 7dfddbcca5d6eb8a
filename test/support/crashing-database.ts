export { createCrashingDatabase } from '../../src/connector-kit/crashing-database.ts';
