import type { Check, Subject } from '../check.ts';
import type { Harness, SyncOptions } from '../harness.ts';

/** Checks about runs that end before their end: 4 and 15. */
export const interruptionChecks: readonly Check[] = [
  {
    number: 4,
    name: 'first-sync',
    title:
      'a process that dies at any request or commit of a first sync is followed by one that ends in the same state',
    timeoutMs: 240_000,
    async run(harness, subject) {
      await harness.populate(7);
      // Documents are processed without the connector; the other case has deaths in that.
      const options = { crashesInProcessing: false };
      await crashEverywhere(harness, subject, { prepare: () => harness.reconnect(), options });
    },
  },
  {
    number: 4,
    name: 'later-sync',
    title:
      'a process that dies at any request or commit of a later sync is followed by one that ends in the same state',
    timeoutMs: 240_000,
    async run(harness, subject) {
      await harness.populateAndSync(7);
      let round = 0;
      const prepare = async () => {
        round += 1;
        await harness.edit('note-2');
        await harness.world.remove('note-5');
        await harness.create('note-5');
        await harness.create(`late-${round}`);
        if (round > 1) await harness.world.remove(`late-${round - 1}`);
      };
      await crashEverywhere(harness, subject, { prepare });
    },
  },
  {
    number: 15,
    name: 'abort',
    title: 'a sync that is stopped ends within the page at which it is',
    async run(harness) {
      await harness.populate(8);
      const stop = new AbortController();
      let lists = 0;
      harness.interfere({
        after(call, result) {
          if (call.verb === 'list' && ++lists === 2) {
            harness.note('The sync was stopped when its second page had come.');
            harness.forget();
            stop.abort();
          }
          return result;
        },
      });
      await harness.sync({ signal: stop.signal });
      harness.expect(
        stop.signal.aborted,
        'The listing had no second page. Make pages of about three items when `pages` is `small`.',
      );
      const begun = harness.traffic.calls.length;
      harness.expect(begun <= 1, `After that it began ${begun} more calls.`);
      harness.interfere({});
      await harness.syncWell();
      await harness.recover();
      await harness.expectMirror('After the next sync');
    },
  },
];

const mostBoundaries = 1_000;
/** Of some places about every second one is tried, at no fixed distance: commits of a page have a rhythm of their own. */
const longestStep = 3;
/** The page that was not recorded yet, and the one that was read ahead meanwhile. */
const pagesInHand = 2;

/**
 * Kills the process at its first, second, third … commit, until a sync ends before that. To die at a request or an
 * answer before it, or elsewhere in its transaction, leaves the same behind: nothing of it.
 */
async function crashEverywhere(
  harness: Harness,
  subject: Subject,
  { prepare, options }: { prepare(): Promise<void>; options?: SyncOptions },
): Promise<void> {
  const step = () => (subject.places === 'some' ? 1 + harness.random.below(longestStep) : 1);
  for (let crashAt = 1; crashAt <= mostBoundaries; crashAt += step()) {
    const notes = harness.notes();
    await prepare();
    harness.forget();
    const { run } = await harness.sync({ ...options, crashAt });
    const before = repetitions(harness);
    if (run !== null) return harness.expectMirror('After a sync');
    await harness.syncWell({ resume: true });
    // A script that pushes begins anew, and so may a run whose last word was lost.
    const isFree = subject.isPushed || isListedAgain(subject);
    if (!isFree && !harness.traffic.diedIdle) expectFewRepeated(harness, before);
    await harness.expectMirror('After the sync that followed');
    harness.forgetNotes(notes);
  }
  harness.expect(false, `A sync of a few items met more than ${mostBoundaries} points.`);
}

/** Where no feed tells what changed meanwhile and pages cost nothing, an interrupted listing is followed by another. */
function isListedAgain({ connector }: Subject): boolean {
  return connector.changes === undefined && connector.spec.limits === undefined;
}

function expectFewRepeated(harness: Harness, before: ReadonlyMap<string, number>): void {
  for (const [partition, count] of repetitions(harness)) {
    const repeated = count - (before.get(partition) ?? 0);
    const message = `${repeated} pages of ${partition} were read again, and ${pagesInHand} are enough.`;
    harness.expect(repeated <= pagesInHand, message);
  }
}

/** How many pages of a partition the framework got more than once. */
function repetitions(harness: Harness): Map<string, number> {
  const byPartition = Map.groupBy(harness.traffic.answered, ({ partition }) => partition ?? '');
  const repeated = [...byPartition].map(([partition, calls]): [string, number] => {
    const pages = calls.map(({ verb, cursor, pass }) => `${verb} ${pass} ${cursor}`);
    return [partition, pages.length - new Set(pages).size];
  });
  return new Map(repeated);
}
