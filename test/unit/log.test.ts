import { describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';

function logged(error: unknown): string {
  let text = '';
  createLogger('info', { write: (line) => (text += line) }).error({ err: error }, 'it failed');
  return text;
}

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

describe('errors in the log', () => {
  it('is the name, the message and where it happened', () => {
    const entry = JSON.parse(logged(new MemorydError('too_large', 'The file is too large.'))) as { err: any };
    expect(entry.err).toMatchObject({ error: 'MemorydError', code: 'too_large', message: 'The file is too large.' });
    expect(entry.err.frames[0]).toContain('log.test.ts');
  });

  it('is not the value that a parser or the database quotes', () => {
    const parser = thrownBy(() => JSON.parse('{ "canary'));
    const database = Object.assign(new Error('duplicate key value: canary'), {
      code: '23505',
      routine: '_bt_check_unique',
      constraint: 'documents_by_custom_id',
      detail: 'Key (custom_id)=(canary) already exists.',
    });
    const wrapped = new MemorydError('index_failed', 'The chunks could not be written.', { cause: database });
    for (const error of [parser, database, wrapped]) expect(logged(error)).not.toContain('canary');
    expect(logged(wrapped)).toContain('documents_by_custom_id');
  });
});
