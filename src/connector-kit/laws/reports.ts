import { ConnectorError, type HookResult, type RawHook } from '../../connector/contract.ts';
import { requestFor } from '../../inbound/hooks/hints.ts';
import { firstOf, needsVerb, needsWorld, type Law, type Subject } from '../law.ts';
import type { Trial } from '../trial.ts';

const missing = ({ connector, world }: Subject): string | undefined =>
  firstOf(needsVerb(connector, 'hooks'), needsWorld(world, 'hooks'));

/** Law 19: requests by which a source reports changes. */
export const reportLaws: readonly Law[] = [
  {
    number: 19,
    name: 'signature',
    title: 'a report with a wrong signature, or a changed body, is refused',
    missing,
    async run(trial) {
      await trial.populate(3);
      const { secret } = trial.world.hooks!;
      const raw = await trial.world.hooks!.delivery(['note-2']);
      const { hints } = await received(trial, raw, secret);
      trial.expect(hints.length > 0, 'A good report leads to no hint.');
      const body = Buffer.concat([raw.body, Buffer.from(' ')]);
      await expectForbidden(trial, { ...raw, body }, secret, 'with a changed body');
      await expectForbidden(trial, raw, `${secret}-other`, 'signed with another secret');
      await expectForbidden(trial, { ...raw, headers: {} }, secret, 'without headers');
      // Some sources say all in their headers.
      if (raw.body.length === 0) return;
      await expectForbidden(trial, { ...raw, body: new Uint8Array() }, secret, 'with an empty body');
    },
  },
  {
    number: 19,
    name: 'delivery',
    title: 'each report has an id of its own, by which a second delivery of it is known',
    missing,
    async run(trial) {
      await trial.populate(2);
      const { secret } = trial.world.hooks!;
      const first = await trial.world.hooks!.delivery(['note-1']);
      const second = await trial.world.hooks!.delivery(['note-1']);
      const ids = [];
      for (const raw of [first, first, second]) ids.push((await received(trial, raw, secret)).deliveryId);
      trial.expect(ids[0] !== undefined && ids[0] === ids[1], 'One report delivered twice has no id, or two.');
      trial.expect(ids[0] !== ids[2], 'Two reports have one id.');
    },
  },
  {
    number: 19,
    name: 'order',
    title: 'reports that come twice and in another order lead to the same memory',
    missing,
    async run(trial) {
      const names = await trial.populate(6);
      await trial.syncWell();
      const { secret } = trial.world.hooks!;
      await trial.world.edit(names[0]!, trial.text(names[0]!));
      const edited = await trial.world.hooks!.delivery([names[0]!]);
      await trial.world.remove(names[1]!);
      const removed = await trial.world.hooks!.delivery([names[1]!]);
      await trial.world.edit(names[0]!, trial.text(names[0]!));
      await trial.world.create('note-7', trial.text('note-7'));
      const created = await trial.world.hooks!.delivery(['note-7', names[0]!]);
      trial.note('The reports of an edit, a deletion and an addition came in another order, and one of them twice.');
      for (const raw of [created, removed, edited, created]) {
        const { hints } = await received(trial, raw, secret);
        await trial.syncWell(requestFor(trial.connector, hints));
      }
      await trial.expectMirror('After the syncs that the reports led to');
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

async function checkEndpoint(trial: Trial): Promise<void> {
  const names = await trial.populate(3);
  await trial.syncWell();
  const raw = await trial.world.hooks!.delivery([names[0]!]);
  const body = Buffer.concat([raw.body, Buffer.from(' ')]);
  for (const [what, bad] of [
    ['a changed body', { ...raw, body }],
    ['no headers', { ...raw, headers: {} }],
  ] as const) {
    const refused = await trial.report(bad).catch((error: { code?: string }) => error);
    const code = 'code' in refused ? refused.code : 'nothing';
    trial.expect(code === 'unauthorized', `A report with ${what} is answered by ${code} and must be unauthorized.`);
  }
  const first = await trial.report(raw);
  trial.expect(first.asked && first.status < 300, `A good report is answered by ${first.status} and asks for no sync.`);
  await trial.syncWell({ trigger: 'event' });
  const again = await trial.report(raw);
  trial.expect(again.status < 300 && !again.asked, 'A report that came twice asked for a second sync.');
}

async function received(trial: Trial, raw: RawHook, secret: string): Promise<Extract<HookResult, { hints: unknown }>> {
  const result = await trial.connector.hooks!.receive(raw, secret);
  if ('hints' in result) return result;
  trial.expect(false, 'A report was taken for a handshake.');
  throw new Error('unreachable');
}

async function expectForbidden(trial: Trial, raw: RawHook, secret: string, what: string): Promise<void> {
  try {
    await trial.connector.hooks!.receive(raw, secret);
  } catch (error) {
    const kind = ConnectorError.is(error) ? error.kind : String(error);
    return trial.expect(kind === 'forbidden', `A report ${what} is answered by ${kind} and must be forbidden.`);
  }
  trial.expect(false, `A report ${what} was accepted.`);
}
