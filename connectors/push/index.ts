import { defineConnector, type JsonObject } from 'memoryd/connector';

/** Where the service puts what was pushed. */
const partition = { id: 'pushed', title: 'Pushed items' };

/**
 * A connection whose items arrive by `POST /v3/connections/{id}/push`. There is no source to ask, so
 * that a sync finds nothing and removes nothing.
 */
export default defineConnector<JsonObject, JsonObject>({
  spec: {
    name: 'push',
    version: '1.0.0',
    title: 'Push',
    kind: 'other',
    description: 'Mirrors what a script of yours sends.',
    config: {
      type: 'object',
      properties: {
        name: {
          type: 'string',
          title: 'Name',
          description: 'Keeps the ids of several push connections in one container apart.',
          pattern: '^[a-z0-9][a-z0-9-]{0,39}$',
          default: 'default',
        },
      },
      additionalProperties: false,
    },
    auth: [],
  },
  check: async () => [],
  partitions: async () => [partition],
  list: async () => ({ refs: [], done: true, incomplete: 'Items arrive by push.' }),
  fetch: async () => ({ skip: 'other', detail: 'The item has to be pushed again.' }),
});
