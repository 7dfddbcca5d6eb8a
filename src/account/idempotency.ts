import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Database } from '../store/database.ts';
import { claimAnswer, giveUpAnswer, keepAnswer, knownRequest, type KeptAnswer } from '../store/kept-answers.ts';

export type { KeptAnswer };

/** The first request under an Idempotency-Key. */
export interface FirstRequest {
  name: string;
  holder: string;
}

/**
 * Answers that are kept for 24 hours, for all processes: whatever happens to the process that gave one, a
 * repetition gets it.
 */
export interface Idempotency {
  /**
   * The kept answer, or that this is the first request. Waits for a first one that is worked on. Throws
   * `conflict`: under this key came another body, the answer was erased, or the first request takes very long.
   */
  begin(name: string, bodyHash: string | null): Promise<{ answer: KeptAnswer } | { first: FirstRequest }>;
  /** Keeps what the first request came to; null: nothing that may be repeated. */
  end(first: FirstRequest, answer: KeptAnswer | null): Promise<void>;
}

const keptMs = 24 * 60 * 60_000;
/** The longest that a request may take; after this its process is taken for dead. */
const heldMs = 5 * 60_000;
const lookEveryMs = 100;
const patienceMs = 30_000;
/** A longer answer is not kept, and its request may be repeated. */
const maxLength = 4 * 1024 * 1024;

export function createIdempotency({ database, clock }: { database: Database; clock: Clock }): Idempotency {
  function claim(first: FirstRequest, bodyHash: string | null): Promise<boolean> {
    const now = clock.now();
    const later = (ms: number) => new Date(now.getTime() + ms);
    return claimAnswer(database, { ...first, bodyHash, now, heldUntil: later(heldMs), expiresAt: later(keptMs) });
  }

  return {
    async begin(place, bodyHash) {
      const first = { name: hash('sha256', place, 'base64'), holder: randomUUID() };
      for (let waitedMs = 0; waitedMs <= patienceMs; waitedMs += lookEveryMs) {
        if (await claim(first, bodyHash)) return { first };
        const known = await knownRequest(database, first.name);
        if (known && known.bodyHash !== bodyHash) throw differentBody();
        if (known?.answer === 'erased') throw erasedAnswer();
        if (known?.answer) return { answer: known.answer };
        await clock.sleep(lookEveryMs);
      }
      throw new MemorydError('conflict', 'The first request with this Idempotency-Key is still worked on', {
        shouldRetry: true,
      });
    },
    async end(first, answer) {
      if (answer === null || answer.text.length > maxLength) await giveUpAnswer(database, first);
      else await keepAnswer(database, first, answer);
    },
  };
}

function differentBody(): MemorydError {
  return new MemorydError('conflict', 'This Idempotency-Key was used with another body', { shouldRetry: false });
}

function erasedAnswer(): MemorydError {
  return new MemorydError('conflict', 'The first request with this Idempotency-Key was done; its answer was erased', {
    shouldRetry: false,
  });
}
