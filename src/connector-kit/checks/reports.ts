import { ConnectorError, type HookResult, type RawHook } from '../../connector/contract.ts';
import { requestFor } from '../../inbound/hooks/receiver.ts';
import { firstOf, needsVerb, needsWorld, worldWith, type Check, type Subject } from '../check.ts';
import type { Harness } from '../harness.ts';

const missing = ({ connector, world }: Subject): string | undefined =>
  firstOf(needsVerb(connector, 'hooks'), needsWorld(world, 'hooks'));

/** Check 19: requests by which a source reports changes. */
export const reportChecks: readonly Check[] = [
  {
    number: 19,
    name: 'signature',
    title: 'a report with a wrong signature, or a changed body, is refused',
    missing,
    async run(harness) {
      await harness.populate(3);
      const { hooks } = worldWith(harness, 'hooks');
      const raw = await hooks.delivery(['note-2']);
      const { hints } = await received(harness, raw, hooks.secret);
      harness.expect(hints.length > 0, 'A good report leads to no hint.');
      const body = Buffer.concat([raw.body, Buffer.from(' ')]);
      await expectForbidden(harness, { ...raw, body }, hooks.secret, 'with a changed body');
      await expectForbidden(harness, raw, `${hooks.secret}-other`, 'signed with another secret');
      await expectForbidden(harness, { ...raw, headers: {} }, hooks.secret, 'without headers');
      // Some sources say all in their headers.
      if (raw.body.length === 0) return;
      await expectForbidden(harness, { ...raw, body: new Uint8Array() }, hooks.secret, 'with an empty body');
    },
  },
  {
    number: 19,
    name: 'delivery',
    title: 'each report has an id of its own, by which a second delivery of it is known',
    missing,
    async run(harness) {
      await harness.populate(2);
      const { hooks } = worldWith(harness, 'hooks');
      const first = await hooks.delivery(['note-1']);
      const second = await hooks.delivery(['note-1']);
      const ids = [];
      for (const raw of [first, first, second]) ids.push((await received(harness, raw, hooks.secret)).deliveryId);
      harness.expect(ids[0] !== undefined && ids[0] === ids[1], 'One report delivered twice has no id, or two.');
      harness.expect(ids[0] !== ids[2], 'Two reports have one id.');
    },
  },
  {
    number: 19,
    name: 'order',
    title: 'reports that come twice and in another order lead to the same memory',
    missing,
    async run(harness) {
      await harness.populateAndSync(6);
      const { hooks } = worldWith(harness, 'hooks');
      await harness.edit('note-1');
      const edited = await hooks.delivery(['note-1']);
      await harness.world.remove('note-2');
      const removed = await hooks.delivery(['note-2']);
      await harness.edit('note-1');
      await harness.create('note-7');
      const created = await hooks.delivery(['note-7', 'note-1']);
      harness.note('The reports of an edit, a deletion and an addition came in another order, and one of them twice.');
      for (const raw of [created, removed, edited, created]) {
        const { hints } = await received(harness, raw, hooks.secret);
        await harness.syncWell(requestFor(harness.connector, hints));
      }
      await harness.expectMirror('After the syncs that the reports led to');
    },
  },
  {
    number: 19,
    name: 'endpoint',
    title: 'the endpoint refuses wrong reports, and takes one that comes twice once',
    missing,
    run: checkEndpoint,
  },
];

async function checkEndpoint(harness: Harness): Promise<void> {
  await harness.populateAndSync(3);
  const raw = await worldWith(harness, 'hooks').hooks.delivery(['note-1']);
  const body = Buffer.concat([raw.body, Buffer.from(' ')]);
  for (const [what, bad] of [
    ['a changed body', { ...raw, body }],
    ['no headers', { ...raw, headers: {} }],
  ] as const) {
    const refused = await harness.report(bad).catch((error: { code?: string }) => error);
    const code = 'code' in refused ? refused.code : 'nothing';
    harness.expect(code === 'unauthorized', `A report with ${what} is answered by ${code} and must be unauthorized.`);
  }
  const first = await harness.report(raw);
  harness.expect(
    first.asked && first.status < 300,
    `A good report is answered by ${first.status} and asks for no sync.`,
  );
  await harness.syncWell({ trigger: 'event' });
  const again = await harness.report(raw);
  harness.expect(again.status < 300 && !again.asked, 'A report that came twice asked for a second sync.');
}

async function received(
  harness: Harness,
  raw: RawHook,
  secret: string,
): Promise<Extract<HookResult, { hints: unknown }>> {
  const result = await harness.connector.hooks?.receive(raw, secret);
  if (result && 'hints' in result) return result;
  return harness.fail('A report was taken for a handshake.');
}

async function expectForbidden(harness: Harness, raw: RawHook, secret: string, what: string): Promise<void> {
  try {
    await harness.connector.hooks?.receive(raw, secret);
  } catch (error) {
    const kind = ConnectorError.is(error) ? error.kind : String(error);
    return harness.expect(kind === 'forbidden', `A report ${what} is answered by ${kind} and must be forbidden.`);
  }
  harness.expect(false, `A report ${what} was accepted.`);
}
