import type { Clock } from '../base/clock.ts';
import { MemorydError } from '../base/errors.ts';
import type { Database } from '../store/database.ts';
import {
  inferredMemories,
  lockReviewed,
  writeReviewed,
  type InferredMemory,
  type ReviewedMemory,
} from '../store/memory-lists.ts';

export type { InferredMemory, ReviewedMemory };
export type ReviewAction = 'approve' | 'decline' | 'undo';

/** Memories that were concluded from others wait for somebody's word (section 18.6 of the API). */
export interface InferredMemories {
  /** At most 50, the best founded first. */
  list(containerTag: string): Promise<{ memories: InferredMemory[]; total: number }>;
  /** Throws `not_found`, and `conflict` (not to be retried) for what cannot be judged or undone. */
  review(containerTag: string, id: string, action: ReviewAction): Promise<ReviewedMemory>;
}

const listed = 50;

export function createInferredMemories({ database, clock }: { database: Database; clock: Clock }): InferredMemories {
  return {
    list: (containerTag) => inferredMemories(database, containerTag, listed),
    review: (containerTag, id, action) =>
      database.transaction(async (tx) => {
        const before = await lockReviewed(tx, containerTag, id);
        if (!before) throw new MemorydError('not_found', 'Memory not found');
        const after = judged(before, action);
        const forgetReason = action === 'decline' ? 'declined' : null;
        await writeReviewed(tx, after, { forgetReason, now: clock.now() });
        return after;
      }),
  };
}

function judged(before: ReviewedMemory, action: ReviewAction): ReviewedMemory {
  if (action === 'undo') {
    if (before.reviewStatus === null) throw conflict('There is no review to undo');
    return { ...before, isInference: true, isForgotten: false, reviewStatus: null };
  }
  if (!before.isInference || before.isForgotten || before.reviewStatus !== null) {
    throw conflict('Only an inferred memory that nobody has reviewed can be reviewed');
  }
  if (action === 'approve') return { ...before, isInference: false, reviewStatus: 'approved' };
  return { ...before, isForgotten: true, reviewStatus: 'declined' };
}

function conflict(message: string): MemorydError {
  return new MemorydError('conflict', message, { shouldRetry: false });
}
