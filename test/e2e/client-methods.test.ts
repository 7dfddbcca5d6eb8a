import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Supermemory from 'supermemory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { methodsOf, tourSteps, type Tour } from '../support/client-tour.ts';
import { startDaemon, type Daemon } from '../support/daemon.ts';
import { createAnswerCheck, createWatchedFetch } from '../support/described-answers.ts';
import { stores, type OpenedStore } from '../support/stores.ts';

const apiKey = 'key of the test';

describe.each(stores.slice(0, 2))('every method of the official client on $name', (store) => {
  const watched = createWatchedFetch();
  let opened: OpenedStore;
  let daemon: Daemon;
  let tour: Tour;
  let problemsOf: ReturnType<typeof createAnswerCheck>;

  beforeAll(async () => {
    opened = await store.open();
    daemon = await startDaemon({
      env: {
        ...opened.env,
        MEMORYD_API_KEY: apiKey,
        MEMORYD_EMBEDDER_KIND: 'hashing',
        MEMORYD_CONNECTORS: join(import.meta.dirname, '../support/shelf-plugin-main.ts'),
      },
    });
    problemsOf = createAnswerCheck((await (await fetch(`${daemon.url}/openapi.json`)).json()) as object);
    tour = {
      client: new Supermemory({ baseURL: `${daemon.url}/`, apiKey, maxRetries: 0, fetch: watched.fetch }),
      async shelve(content) {
        const file = join(daemon.dataDir, 'shelves.json');
        await writeFile(file, JSON.stringify(content));
        return file;
      },
      settle: async () => {},
    };
  });
  afterAll(async () => {
    await daemon.stop();
    await opened.close();
  });

  it.each(tourSteps)('%s', async (_, step) => {
    watched.answers.length = 0;
    await step(tour);
    expect(watched.answers.length).toBeGreaterThan(0);
    expect(watched.answers.flatMap(problemsOf)).toEqual([]);
  });

  it('and there is no other method, also on the page of clients', async () => {
    expect(tourSteps.map(([name]) => name).sort()).toEqual(methodsOf(tour.client));
    const page = await readFile(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');
    const described = [...page.matchAll(/^\| `([a-zA-Z.]+)` +\| `[A-Z]+ \//gm)].map(([, name]) => name!);
    expect(described.toSorted()).toEqual(methodsOf(tour.client));
  });

  it('takes the daemon for its own local server', async () => {
    const local = await Supermemory.local({ baseURL: daemon.url, start: false, apiKey });
    expect(await local.settings.get()).toMatchObject({ filterPrompt: 'Keep decisions.' });
  });
});
