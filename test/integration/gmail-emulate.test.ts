import { expect, it, onTestFinished } from 'vitest';
import { serveEmulatedGmail } from '../../fixtures/servers/gmail/emulated-gmail.ts';
import { createRandom } from '../../src/connector-kit/setup.ts';
import { createTestClock } from '../support/clock.ts';
import { connectGmail } from './gmail-fixture.ts';

interface EmulatedMail {
  id: string;
  threadId: string;
  labelIds?: string[];
  payload: { body: { data: string } };
}

const hidden = ['TRASH', 'SPAM', 'DRAFT'];

it('mirrors what the emulator of Google holds, whatever happens there', async () => {
  const emulator = await serveEmulatedGmail(createTestClock());
  onTestFinished(() => emulator.close());
  const { mirror, clock } = await connectGmail({ url: emulator.url });
  const random = createRandom(7);
  let written = 0;

  async function write(threadId?: string): Promise<void> {
    const text = `Mail ${(written += 1)} about the harbour.`;
    const head = ['From: Bob <bob@example.com>', 'To: ana@example.com', `Subject: Number ${written}`];
    const raw = [...head, `Message-ID: <${written}@example.com>`, '', text, ''].join('\r\n');
    const body = { raw: Buffer.from(raw).toString('base64url'), labelIds: ['INBOX'] };
    await emulator.ask('POST', '/messages', { ...body, ...(threadId && { threadId }) });
  }

  async function all(): Promise<EmulatedMail[]> {
    const { messages = [] } = await emulator.ask('GET', '/messages?maxResults=500&includeSpamTrash=true');
    const ids = (messages as { id: string }[]).map(({ id }) => id);
    return Promise.all(ids.map((id) => emulator.ask('GET', `/messages/${id}?format=full`) as Promise<EmulatedMail>));
  }

  async function step(): Promise<void> {
    const mails = await all();
    if (mails.length < 3) return write();
    const { id, threadId } = random.pick(mails);
    const modify = (change: object) => emulator.ask('POST', `/messages/${id}/modify`, change);
    const acts = [
      () => write(),
      () => write(threadId),
      () => emulator.ask('POST', `/messages/${id}/trash`),
      () => emulator.ask('POST', `/messages/${id}/untrash`),
      () => modify({ addLabelIds: ['SPAM'] }),
      () => modify({ removeLabelIds: ['SPAM', 'UNREAD'], addLabelIds: ['STARRED'] }),
      () => emulator.ask('DELETE', `/messages/${id}`),
    ];
    await random.pick(acts)();
  }

  async function compare(): Promise<void> {
    const kept = (await all()).filter(({ labelIds = [] }) => !labelIds.some((label) => hidden.includes(label)));
    const texts = await mirror.texts();
    const threads = Map.groupBy(kept, ({ threadId }) => threadId);
    expect([...texts.keys()].toSorted()).toEqual([...threads.keys()].toSorted());
    for (const [thread, mails] of threads) {
      const wanted = mails.map(({ payload }) => Buffer.from(payload.body.data, 'base64url').toString().trim());
      const shown = texts.get(thread)!.match(/Mail \d+ about the harbour\./g);
      expect(shown?.toSorted()).toEqual(wanted.toSorted());
    }
  }

  for (let round = 0; round < 25; round++) {
    for (let count = 0; count < 3; count++) await step();
    clock.advance(61 * 60_000);
    expect(await mirror.sync({ mode: round % 5 === 4 ? 'full' : 'incremental' })).toMatchObject({
      status: 'completed',
    });
    await compare();
  }
});
