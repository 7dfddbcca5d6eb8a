export { createCrashingDatabase } from '../../src/connect/testing/crashing-database.ts';
