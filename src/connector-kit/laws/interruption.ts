import type { Law, Subject } from '../law.ts';
import type { Trial } from '../trial.ts';

/** Laws about runs that end before their end: 4 and 15. */
export const interruptionLaws: readonly Law[] = [
  {
    number: 4,
    name: 'first-sync',
    title:
      'a process that dies at any request or statement of a first sync is followed by one that ends in the same state',
    timeoutMs: 240_000,
    async run(trial, subject) {
      await trial.populate(7);
      await crashEverywhere(trial, subject, () => trial.reconnect());
    },
  },
  {
    number: 4,
    name: 'later-sync',
    title:
      'a process that dies at any request or statement of a later sync is followed by one that ends in the same state',
    timeoutMs: 240_000,
    async run(trial, subject) {
      const names = await trial.populate(7);
      await trial.syncWell();
      let round = 0;
      const prepare = async () => {
        round += 1;
        await trial.world.edit(names[1]!, trial.text(names[1]!));
        await trial.world.remove(names[4]!);
        await trial.world.create(names[4]!, trial.text(names[4]!));
        await trial.world.create(`late-${round}`, trial.text(`late-${round}`));
        if (round > 1) await trial.world.remove(`late-${round - 1}`);
      };
      await crashEverywhere(trial, subject, prepare);
    },
  },
  {
    number: 15,
    name: 'abort',
    title: 'a sync that is stopped ends within the page at which it is',
    async run(trial) {
      await trial.populate(8);
      const stop = new AbortController();
      let lists = 0;
      trial.interfere({
        after(call, result) {
          if (call.verb === 'list' && ++lists === 2) {
            trial.note('The sync was stopped when its second page had come.');
            trial.forget();
            stop.abort();
          }
          return result;
        },
      });
      await trial.sync({ signal: stop.signal });
      trial.expect(
        stop.signal.aborted,
        'The listing had no second page. Make pages of about three items when `pages` is `small`.',
      );
      const begun = trial.traffic.calls.length;
      trial.expect(begun <= 1, `After that it began ${begun} more calls.`);
      trial.interfere({});
      await trial.syncWell();
      await trial.recover();
      await trial.expectMirror('After the next sync');
    },
  },
];

const mostBoundaries = 1_000;
/** The page that was not recorded yet, and the one that was read ahead meanwhile. */
const pagesInHand = 2;

/** Kills the process at its first, second, third … request or statement, until a sync ends before that. */
async function crashEverywhere(trial: Trial, subject: Subject, prepare: () => Promise<void>): Promise<void> {
  for (let crashAt = 1; crashAt <= mostBoundaries; crashAt++) {
    const notes = trial.notes();
    await prepare();
    trial.forget();
    const { run } = await trial.sync({ crashAt });
    const before = repetitions(trial);
    if (run !== null) return trial.expectMirror('After a sync');
    await trial.syncWell({ resume: true });
    // A script that pushes begins anew, and so may a run whose last word was lost.
    if (!subject.isPushed && !trial.traffic.diedAtStatement) expectFewRepeated(trial, before);
    await trial.expectMirror('After the sync that followed');
    trial.forgetNotes(notes);
  }
  trial.expect(false, `A sync of a few items met more than ${mostBoundaries} points.`);
}

function expectFewRepeated(trial: Trial, before: ReadonlyMap<string, number>): void {
  for (const [partition, count] of repetitions(trial)) {
    const repeated = count - (before.get(partition) ?? 0);
    const message = `${repeated} pages of ${partition} were read again, and ${pagesInHand} are enough.`;
    trial.expect(repeated <= pagesInHand, message);
  }
}

/** How many pages of a partition the framework got more than once. */
function repetitions(trial: Trial): Map<string, number> {
  const byPartition = Map.groupBy(trial.traffic.answered, ({ partition }) => partition ?? '');
  const repeated = [...byPartition].map(([partition, calls]): [string, number] => {
    const pages = calls.map(({ verb, cursor, pass }) => `${verb} ${pass} ${cursor}`);
    return [partition, pages.length - new Set(pages).size];
  });
  return new Map(repeated);
}
