import { afterEach, describe, expect, it } from 'vitest';
import { MemorydError } from '../../src/base/errors.ts';
import type { Connector } from '../../src/connector/contract.ts';
import { createRegistry } from '../../src/connector/registry.ts';
import { createScopeService } from '../../src/connections/source-service.ts';
import { findConnection } from '../../src/store/connections.ts';
import { createTestClock } from '../support/clock.ts';
import { openTestDatabase, type TestDatabase } from '../support/databases.ts';
import { createMirror } from '../support/mirror.ts';
import { createScopedSource } from '../support/scoped-source.ts';

describe('choosing resources', () => {
  let opened: TestDatabase;
  afterEach(() => opened.close());

  async function open(adapt: (connector: Connector<any, any>) => Connector<any, any> = (same) => same) {
    opened = await openTestDatabase();
    const { database } = opened;
    const clock = createTestClock();
    const source = createScopedSource();
    const connector = adapt(source.connector());
    const mirror = await createMirror({ database, clock, connector });
    const woken: string[] = [];
    const service = createScopeService({
      database,
      registry: createRegistry({ scoped: async () => ({ default: connector }) }),
      clock,
      wake: async (id) => void woken.push(id),
    });
    for (const id of ['a', 'b']) source.put(`shelf-${id}`, id, { text: id });
    await mirror.sync();
    return { mirror, source, service, woken, ids: async () => [...(await mirror.texts()).keys()] };
  }

  it('removes what is no longer selected, and asks for the sync that does it', async () => {
    const { mirror, service, woken, ids } = await open();
    await service.setSelection(mirror.id, [{ id: 'shelf-a', title: 'A' }], { deleteRemoved: true });
    expect(woken).toEqual([mirror.id]);
    expect(await findConnection(opened.database, mirror.id)).toMatchObject({
      selection: [{ id: 'shelf-a', name: 'shelf-a', title: 'A' }],
      requestedSync: { mode: 'incremental', trigger: 'manual' },
    });
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
  });

  it('keeps documents that are to stay, leaves them alone, and removes them when asked to later', async () => {
    const { mirror, source, service, ids } = await open();
    await service.setSelection(mirror.id, [{ id: 'shelf-a' }], { deleteRemoved: false });
    source.change('shelf-b', 'b', { text: 'changed' });
    await mirror.sync();
    await mirror.sync({ mode: 'full' });
    expect((await mirror.texts()).get('b')).toBe('b');
    const [, kept] = await mirror.partitions();
    expect(kept).toMatchObject({ state: 'paused', state_reason: expect.stringContaining('stay as they are') });
    await service.setSelection(mirror.id, [{ id: 'shelf-a' }], { deleteRemoved: true });
    await mirror.sync();
    expect(await ids()).toEqual(['a']);
  });

  it('with an empty selection everything is mirrored again', async () => {
    const { mirror, source, service, ids } = await open();
    await service.setSelection(mirror.id, [{ id: 'shelf-a' }], { deleteRemoved: true });
    await mirror.sync();
    source.requests.length = 0;
    await service.setSelection(mirror.id, [], { deleteRemoved: true });
    await mirror.sync();
    expect(await ids()).toEqual(['a', 'b']);
    expect(source.fetches()).toEqual([]);
    expect((await mirror.partitions()).map((row) => row.missing_since)).toEqual([null, null]);
  });

  it('with an empty selection, what the connector then does not show goes at once', async () => {
    let needsSelection = false;
    const { mirror, service, ids } = await open((connector) => ({
      ...connector,
      partitions: async (context) => (needsSelection ? [] : connector.partitions(context)),
    }));
    needsSelection = true;
    await service.setSelection(mirror.id, [], { deleteRemoved: true });
    await mirror.sync();
    expect(await ids()).toEqual([]);
  });

  it('takes ids that are numbers, and each resource once', async () => {
    const { mirror, service } = await open();
    const resources = [{ id: 7, full_name: 'example/seven' }, { id: '7', name: 'seven' }, { id: 'x' }];
    await service.setSelection(mirror.id, resources, { deleteRemoved: true });
    expect((await findConnection(opened.database, mirror.id))!.selection).toEqual([
      { id: '7', name: 'seven' },
      { id: 'x', name: 'x' },
    ]);
  });

  it.each([
    ['everything', ['resources'], /is not a list of resources\. Give a list/],
    [[{ id: 'ok' }, { name: 'b' }], ['resources', 1, 'id'], /is missing or not an id\. Give the id/],
    [[{ id: '' }], ['resources', 0, 'id'], /not an id/],
    [[{ id: Number.NaN }], ['resources', 0, 'id'], /not an id/],
    [[null], ['resources', 0, 'id'], /not an id/],
    [[{ id: 'x'.repeat(501) }], ['resources', 0, 'id'], /not an id/],
  ])('refuses %j', async (resources, path, text) => {
    const { mirror, service } = await open();
    const error = await service
      .setSelection(mirror.id, resources, { deleteRemoved: true })
      .catch((one: unknown) => one);
    expect(MemorydError.is(error) && error.issues).toEqual([{ path, message: expect.stringMatching(text) }]);
    expect((await findConnection(opened.database, mirror.id))!.selection).toEqual([]);
  });

  it('says so when there is no such connection, or nothing to choose', async () => {
    const { mirror, service } = await open(({ resources: _, ...connector }) => connector);
    await expect(service.setSelection('nobody', [], { deleteRemoved: true })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(service.setSelection(mirror.id, [], { deleteRemoved: true })).rejects.toMatchObject({
      code: 'unsupported_operation',
    });
  });
});
