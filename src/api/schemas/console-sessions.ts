import Type from 'typebox';
import { sessionAnswer } from './keys.ts';
import { timestamp } from './shared.ts';

/** A key, or the token of a link. */
export const signInBody = Type.Object({
  key: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description: 'An API key.' })),
  link: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'The token of a link, used up by it.' }),
  ),
});

export const consoleSessionAnswer = Type.Object({
  csrf: Type.String({ description: 'To be sent as x-csrf-token with every request that is not GET or HEAD.' }),
  expiresAt: timestamp,
  session: sessionAnswer,
});

export const consoleLinkAnswer = Type.Object({
  url: Type.String({ format: 'uri', description: 'Opens the console, once.' }),
  expiresAt: timestamp,
});
