import Type from 'typebox';

export const sharedHookParams = Type.Object({
  provider: Type.String({ description: 'Name of a connector.', minLength: 1, maxLength: 64 }),
});

export const hookParams = Type.Object({
  ...sharedHookParams.properties,
  connectionId: Type.String({ description: 'Id of a connection.', minLength: 1, maxLength: 255 }),
});

/** Sources send what they like; the connector reads it. */
export const hookAnswer = {
  description: 'Taken. What it says is looked at soon. A handshake gets the answer that the source expects.',
  content: {
    'application/json': { schema: Type.Object({ received: Type.Boolean() }) },
    'text/plain': { schema: Type.String() },
  },
};
