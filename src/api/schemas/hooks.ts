import Type from 'typebox';

export const sharedHookParams = Type.Object({
  provider: Type.String({ description: 'Name of a connector.', minLength: 1, maxLength: 64 }),
});

export const hookParams = Type.Object({
  ...sharedHookParams.properties,
  connectionId: Type.String({ description: 'Id of a connection.', minLength: 1, maxLength: 255 }),
});

/** Sources send what they like; the connector reads it. */
export const hookAnswers = {
  200: {
    description: 'The answer to a handshake that the source expects.',
    content: {
      'text/plain': { schema: Type.String() },
      'application/json': { schema: Type.Unsafe<unknown>({}) },
    },
  },
  202: {
    description: 'Taken. What it says is looked at soon.',
    content: { 'application/json': { schema: Type.Object({ received: Type.Boolean() }) } },
  },
  401: {
    description: 'The signature of the source is not valid.',
    content: { 'application/json': { schema: Type.Ref('ErrorResponse#') } },
  },
};
