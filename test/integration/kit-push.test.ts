import * as vitest from 'vitest';
import type { Connector, Ref } from 'memoryd/connector';
import { testConnector } from 'memoryd/testing';
import push from '../../connectors/push/index.ts';
import { createNoteBook, createPushScript, type NoteBook } from '../../fixtures/servers/push-script.ts';

let book: NoteBook;
let scripts = new Map<string, ReturnType<typeof createPushScript>>();
const perPage = 3;

/** Shows what the script has in hand, so that checks can hide, break and count its pages. */
const connector: Connector<any, any> = {
  ...push,
  async list(_context, _partition, from?: { at: number }) {
    const at = from?.at ?? 0;
    const refs = book.refs().slice(at, at + perPage);
    return at + perPage < book.refs().length ? { refs, next: { at: at + perPage } } : { refs, done: true };
  },
};

async function* pagesOf(shown: Connector<any, any>, signal: AbortSignal): AsyncIterable<Ref[]> {
  let from: unknown;
  do {
    signal.throwIfAborted();
    const page = await shown.list({} as never, { id: 'pushed' }, from);
    // A script that did not get everything must not say that it has.
    if (page.incomplete !== undefined) throw new Error(page.incomplete);
    yield page.refs;
    from = page.done ? undefined : page.next;
  } while (from !== undefined);
}

await testConnector({
  vitest,
  connector,
  world() {
    book = createNoteBook();
    scripts = new Map();
    return book;
  },
  async deliver({ push: service, connectionId, connector: shown, mode, signal }) {
    const script = scripts.get(connectionId) ?? createPushScript();
    scripts.set(connectionId, script);
    await script.send(service, connectionId, pagesOf(shown, signal), mode === 'full');
  },
  notApplied: [
    // Nobody is asked for anything.
    ...['2 good', '2 refused', '2 slow', '11 poison', '11 poison-at-source', '18 memory'],
    ...['6 status-500', '6 status-429', '6 status-404', '6 status-403', '6 not-json', '6 empty-object'],
    ...['6 reset', '6 truncate', '6 silence', '12 seconds', '12 date', '12 none', '12 other-status'],
    ...['21 first', '21 changed-0', '21 changed-1', '21 changed-5'],
    // There is nothing to authorize, no feed, and what a script has in hand has neither places nor a trash.
    ...['13 one-refresh', '13 crash', '14 withdrawn', '14 refused', '20 canary', '7 expired-position'],
    ...['19 signature', '19 delivery', '19 order', '19 endpoint', '10 clock-ahead', '10 clock-behind'],
    ...['8 trash', '8 access', '8 container', '9 move', '9 container-rename', '9 scope', '17 selection'],
    ...['16 too_large', '16 binary', '16 encrypted', '16 empty', '22 look-up', '22 changes', '24 one-request'],
  ],
});
