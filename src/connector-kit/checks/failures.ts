import { transient } from '../../connector/contract.ts';
import { customIdOf } from '../../sync/check-item.ts';
import { needsWorld, type Check } from '../check.ts';
import type { Interference } from '../setup.ts';
import type { Fault } from '../serve-source.ts';
import type { Harness } from '../harness.ts';

/** Seconds; longer than a daemon waits inside of a run. */
const retryAfter = '120';

interface RequestFault {
  title: string;
  fault: Fault;
  /** No answer that a connector could take for another: of some places, it is tried from this request on. */
  sparseFrom?: number;
}

const requestFaults: Record<string, RequestFault> = {
  'status-500': {
    title: 'a source that answers 500',
    fault: { status: 500, json: { error: 'broken' } },
    sparseFrom: 1,
  },
  'status-429': {
    title: 'a source that answers 429',
    fault: { status: 429, headers: { 'retry-after': retryAfter }, json: {} },
    sparseFrom: 2,
  },
  'status-404': {
    title: 'a source that suddenly answers 404 to everything, except of what was asked for by its id,',
    fault: { status: 404, json: {} },
  },
  'status-403': { title: 'a source that suddenly answers 403 to everything', fault: { status: 403, json: {} } },
  'not-json': { title: 'a source that answers something else', fault: { status: 200, body: '<html>Sign in</html>' } },
  'empty-object': { title: 'a source that answers an empty object', fault: { status: 200, json: {} } },
  reset: { title: 'a connection that breaks', fault: 'reset', sparseFrom: 3 },
  truncate: { title: 'an answer that breaks off', fault: 'truncate' },
  silence: { title: 'a source that does not answer', fault: 'silence', sparseFrom: 1 },
};

/** How a sync is made to fail from its first, second, third … page or request on. */
interface Kind {
  what: 'page' | 'request';
  interference(from: number): Interference;
  /** The fault says of an item that it is gone, and nobody can know better. */
  maySayGone?: boolean;
  /** Which of them are tried. Default: all. */
  places?: { from: number; step: number };
}

/** It would hold back what such a source seems to have lost, and hide that a connector takes it for deleted. */
const withoutBrake = { brakeItems: Infinity };

/** Check 6: a source that fails never leads to a deletion. */
export const failureChecks: readonly Check[] = [
  {
    number: 6,
    name: 'failing-page',
    title: 'a page that fails never leads to a deletion',
    timeoutMs: 120_000,
    settings: withoutBrake,
    run: (harness) => failEverywhere(harness, { what: 'page', interference: failingPage }),
  },
  {
    number: 6,
    name: 'partial-page',
    title: 'a listing that says it is not complete never leads to a deletion',
    timeoutMs: 120_000,
    settings: withoutBrake,
    run: (harness) => failEverywhere(harness, { what: 'page', interference: partialPage }),
  },
  ...Object.entries(requestFaults).map(([name, { title, fault, sparseFrom }]): Check => ({
    number: 6,
    name,
    title: `${title} never leads to a deletion`,
    missing: ({ world }) => needsWorld(world, 'traffic'),
    timeoutMs: 120_000,
    settings: withoutBrake,
    run: (harness, { places }) =>
      failEverywhere(harness, {
        what: 'request',
        interference: (from) => failingRequests(from, fault),
        maySayGone: name === 'status-404',
        ...(places === 'some' && sparseFrom !== undefined && { places: { from: sparseFrom, step: sparseStep } }),
      }),
  })),
];

/** With this, each request is tried with one of the sparse faults at least. */
const sparseStep = 3;

function failingPage(from: number): Interference {
  let pages = 0;
  return {
    before(call) {
      if ((call.verb === 'list' || call.verb === 'changes') && ++pages >= from) throw transient('the page failed');
    },
  };
}

function partialPage(from: number): Interference {
  let pages = 0;
  return {
    after(call, result) {
      if (call.verb !== 'list' || ++pages < from) return result;
      return { ...result, refs: result.refs.slice(0, 1), incomplete: 'a part of the source did not answer' };
    },
  };
}

function failingRequests(from: number, fault: Fault): Interference {
  let requests = 0;
  return {
    request: () => (++requests >= from ? fault : undefined),
    ...(fault === 'silence' && { timeoutMs: shortMs }),
  };
}

/** In place of the half minute that a source has for its answer otherwise. */
const shortMs = 100;
const mostFaults = 100;

/** From the first, second, third … page or request on, everything fails; until a sync has fewer of them. */
async function failEverywhere(harness: Harness, kind: Kind): Promise<void> {
  const { what, interference, places = { from: 1, step: 1 } } = kind;
  await harness.populateAndSync(8);
  for (let { from } = places; from <= mostFaults; from += places.step) {
    const notes = harness.notes();
    harness.note(`From ${what} ${from} of a full sync on, each failed.`);
    await harness.edit('note-1');
    const before = [...(await harness.memory()).keys()];
    let met = 0;
    harness.forget();
    harness.interfere(counting(interference(from), () => (met += 1)));
    const { run } = await harness.sync({ mode: 'full' });
    harness.interfere({});
    const lost = (await lostOf(harness, before)).filter(
      (customId) => !kind.maySayGone || !askedFor(harness).has(customId),
    );
    harness.expect(lost.length === 0, `Then ${lost.join(', ')} had been deleted, although the source still has it.`);
    // A source that was only slow has failed as well, maybe for one item alone.
    if (met < from && run?.status === 'completed' && run.itemsFailed === 0) return harness.expectMirror('After a sync');
    await harness.restore();
    await syncAgain(harness);
    // What failed many times is put off for longer.
    if ((await harness.differences()).length > 0) await syncAgain(harness);
    await harness.expectMirror('After the source worked again');
    harness.forgetNotes(notes);
  }
  harness.expect(false, `A sync of a few items had more than ${mostFaults} requests.`);
}

async function syncAgain(harness: Harness): Promise<void> {
  harness.clock.advance(7 * 3_600_000);
  await harness.syncWell({ mode: 'full' });
}

function counting(inner: Interference, met: () => void): Interference {
  const { request } = inner;
  const isPage = (verb: string) => verb === 'list' || verb === 'changes';
  return {
    ...inner,
    before(call) {
      if (isPage(call.verb) && !request) met();
      return inner.before?.(call);
    },
    ...(request && {
      request(asked) {
        met();
        return request(asked);
      },
    }),
  };
}

async function lostOf(harness: Harness, before: readonly string[]): Promise<string[]> {
  const memory = await harness.memory();
  return before.filter((customId) => !memory.has(customId));
}

/** Items of which the source said, wrongly, that they are not there. */
function askedFor(harness: Harness): Set<string> {
  const ids = harness.traffic.calls.flatMap((call) => call.ids ?? []);
  return new Set(ids.map((id) => customIdOf(harness.connector.spec.name, id)));
}
