import type { IncomingMessage, ServerResponse } from 'node:http';
import { LLMock, type ChatCompletionRequest, type Fixture, type FixtureResponse } from '@copilotkit/aimock';

export type Asked = ChatCompletionRequest & {
  response_format?: { type: string; json_schema?: { name: string; schema: object } };
  max_completion_tokens?: number;
};

export interface LanguageModelServer {
  /** For MEMORYD_LLM_URL. */
  baseUrl: string;
  /** What was asked so far, in the order of arrival. */
  asked(): Asked[];
  /** Answers questions of a shape (all where it is null) from now on; a later rule goes before earlier ones. */
  answer(
    name: string | null,
    response: FixtureResponse | ((request: Asked) => FixtureResponse),
    how?: Omit<Fixture, 'match' | 'response'> & { times?: number; when?: (request: Asked) => boolean },
  ): void;
  /** The address of an endpoint that writes what it likes. */
  odd(write: (response: ServerResponse, request: IncomingMessage) => void): string;
  close(): Promise<void>;
}

/** Everything of a request that the model reads. */
export function textOf(request: ChatCompletionRequest): string {
  return request.messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');
}

/** The turns that a question about facts shows. */
export function turnsIn(request: ChatCompletionRequest): { turn: number; speaker: string | null; text: string }[] {
  const [, shown = ''] = textOf(request).split('\nTurns:\n');
  return shown.split('\n').map((line) => JSON.parse(line) as { turn: number; speaker: string | null; text: string });
}

/** An answer with a JSON value in it. */
export const json = (value: unknown, tokens?: number): FixtureResponse => ({
  content: JSON.stringify(value),
  ...(tokens !== undefined && { usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens } }),
});

/** An OpenAI-compatible server on loopback that answers as it is told to. */
export async function startLanguageModelServer(): Promise<LanguageModelServer> {
  const mock = new LLMock({ port: 0, strict: true });
  await mock.start();
  return {
    baseUrl: `${mock.url}/v1`,
    asked: () => mock.getRequests().map(({ body }) => body as Asked),
    answer(name, response, { times = Infinity, when = () => true, ...how } = {}) {
      const served = () => mock.getRequests().filter((entry) => entry.response.fixture === fixture).length;
      const fixture: Fixture = {
        match: {
          predicate: (request) => {
            const asked = request as Asked;
            const isMeant = name === null || asked.response_format?.json_schema?.name === name;
            return isMeant && when(asked) && served() < times;
          },
        },
        response: typeof response === 'function' ? (request) => response(request) : response,
        ...how,
      };
      mock.prependFixture(fixture);
    },
    odd(write) {
      mock.mount('/odd', {
        handleRequest: async (request, response) => {
          write(response, request);
          return true;
        },
      });
      return `${mock.url}/odd`;
    },
    close: () => mock.stop(),
  };
}
