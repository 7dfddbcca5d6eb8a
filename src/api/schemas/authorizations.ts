import Type from 'typebox';
import { words } from './shared.ts';

/** Section 19.7 of the API. */

/** Taken as it comes: what is wrong with it is told to a person in a browser. */
export const callbackQuery = Type.Object({
  code: Type.Optional(Type.Unknown({ description: 'From the source.' })),
  state: Type.Optional(Type.Unknown({ description: 'The state of the consent link.' })),
  error: Type.Optional(Type.Unknown({ description: 'In place of a code.' })),
});

const page = { 'text/html': { schema: Type.String() } };

export const callbackAnswers = {
  200: {
    description: 'Connected, and no redirectUrl was given. As JSON when only that is accepted.',
    content: {
      ...page,
      'application/json': {
        schema: Type.Object({ connectionId: Type.String(), provider: Type.String(), status: words(['connected']) }),
      },
    },
  },
  302: {
    description:
      'To the redirectUrl, with connectionId, provider and status=connected, or with provider and error: access_denied, invalid_state or exchange_failed.',
    type: 'null' as const,
  },
  400: {
    description: 'Not connected, and there is nowhere to send the browser.',
    content: {
      ...page,
      'application/json': { schema: Type.Object({ error: Type.String(), details: Type.String() }) },
    },
  },
};

export const authorizationAnswer = Type.Object({
  connectionId: Type.String(),
  status: words(['pending', 'connected', 'access_denied', 'exchange_failed', 'expired'], {
    description: 'The state of the newest consent link for this connection.',
  }),
});
