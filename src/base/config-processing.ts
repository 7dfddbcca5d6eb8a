import Type from 'typebox';
import { standardRedrives } from './redrive-pauses.ts';

/** Settings of the work on documents. */
export const processing = {
  worker: Type.Object({
    concurrency: Type.Integer({
      description: 'Batches of documents that are processed at once in this process.',
      default: 2,
      minimum: 1,
      maximum: 64,
    }),
  }),
  redriveSchedule: Type.Array(Type.String({ pattern: '^[1-9]\\d{0,5}[smhd]$' }), {
    description:
      'After which pauses documents whose processing failed, and may yet succeed, are processed again; then they are left. Memories are looked for again after the same pauses.',
    default: standardRedrives,
    expected: 'pauses such as 30s, 5m, 2h or 1d',
    aliases: ['REDRIVE_SCHEDULE'],
  }),
  memories: Type.Enum(['on', 'off'], {
    description:
      'Whether memories are made of documents. Those that are there stay, and can be written and found in either case.',
    default: 'on',
  }),
  dreaming: Type.Object({
    quietMs: Type.Integer({
      description:
        'Documents that are not read for memories at once wait until nothing has come to their container for so long, in milliseconds.',
      default: 20_000,
      minimum: 0,
      aliases: ['DREAM_QUIET_MS'],
    }),
    documents: Type.Integer({
      description: 'As many documents of a container do not wait any longer.',
      default: 20,
      minimum: 1,
      maximum: 100,
      aliases: ['DREAM_DOCUMENTS'],
    }),
    waitMs: Type.Integer({
      description: 'However busy its container is, a document waits no longer than this, in milliseconds.',
      default: 120_000,
      minimum: 0,
      aliases: ['DREAM_WAIT_MS'],
    }),
  }),
};
