import Type from 'typebox';

/** Settings of the language model; without `url` there is none, and nothing is sent anywhere. */
export const languageModel = Type.Object({
  url: Type.Optional(
    Type.String({
      description:
        'Address of an OpenAI-compatible server whose language model finds memories; up to `/chat/completions`.',
      absent: 'memories are found by rules, without a language model',
      pattern: '^https?://.+',
      expected: 'an address such as http://127.0.0.1:11434/v1',
    }),
  ),
  model: Type.Optional(
    Type.String({ description: 'Name of the model at that server.', absent: 'needed with llm.url', minLength: 1 }),
  ),
  apiKey: Type.Optional(
    Type.String({ description: 'Key for that server.', absent: 'none is sent', minLength: 1, secret: true }),
  ),
  tokensPerDay: Type.Integer({
    description: 'Tokens of questions and answers that each container may spend in a day (UTC); then the rules go on.',
    default: 1_000_000,
    minimum: 0,
  }),
  summaries: Type.Boolean({
    description: 'Makes titles and summaries of documents once they are searchable, with at most half of the budget.',
    default: true,
  }),
  concurrency: Type.Integer({ description: 'Requests at once.', default: 2, minimum: 1, maximum: 64 }),
  timeoutMs: Type.Integer({
    description: 'How long one request may take, in milliseconds.',
    default: 120_000,
    minimum: 100,
  }),
});
