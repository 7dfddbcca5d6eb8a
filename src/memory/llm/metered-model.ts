import { hash } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Clock } from '../../base/clock.ts';
import type { MemorydError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { storableText } from '../../base/storable.ts';
import type { Answering, LanguageModel, Question } from '../../models/language-model.ts';
import type { Database } from '../../store/database.ts';
import {
  findAnswer,
  keepAnswer,
  readUsage,
  reserveTokens,
  settleTokens,
  type CallOutcome,
  type Usage,
} from '../../store/language-model.ts';

export interface MeteredModelOptions {
  database: Database;
  model: LanguageModel;
  clock: Clock;
  log: Logger;
  /** Tokens that a container may spend in a day (UTC). */
  tokensPerDay: number;
}

export interface LanguageModelUsage extends Usage {
  id: string;
  /** `failing`: the last question was not answered. `budget spent`: that of a container, today. */
  state: 'ready' | 'failing' | 'budget spent';
  tokensPerDay: number;
}

/** A language model that is only asked what was not answered before, within a budget. */
export interface MeteredModel extends Answering {
  usage(): Promise<LanguageModelUsage>;
  close(): Promise<void>;
}

/** So many failures in a row, and the endpoint is left alone for a while: each one takes its time. */
const failuresBeforeRest = 3;
const restMs = 60_000;

export function createMeteredModel(options: MeteredModelOptions): MeteredModel {
  const { database, model, clock, log, tokensPerDay } = options;
  const checks = new Ajv2020({ strict: false });
  let failures = 0;
  let restsUntil = 0;

  async function pay(question: Question, signal: AbortSignal): Promise<unknown> {
    if (clock.now().getTime() < restsUntil) return settle(options, question, 'failed');
    const { instructions, content, schema, maxAnswerTokens } = question;
    const asked = instructions + content + JSON.stringify(schema);
    const reserved = model.estimateTokens(asked) + maxAnswerTokens;
    const limit = Math.floor(tokensPerDay * (question.share ?? 1));
    const reservation = { containerTag: tagOf(question), tokens: reserved, limit };
    if (!(await reserveTokens(database, reservation, clock.now()))) return settle(options, question, 'over_budget');
    // When this is aborted the endpoint may have worked, so nothing is given back.
    const completion = await model.complete(question, { kind: question.kind, signal });
    if ('failure' in completion) {
      rest(completion.failure);
      log.warn({ err: completion.failure, question: question.name }, 'the language model did not answer');
      return settle(options, question, 'failed', { tokens: completion.lost ? reserved : 0, reserved });
    }
    failures = 0;
    const { tokens, text } = completion;
    const answer = readJson(text);
    if (answer === undefined || !checks.compile(question.schema)(answer)) {
      log.warn({ question: question.name, model: model.id }, 'the language model answered in another form than asked');
      return settle(options, question, 'malformed', { tokens, reserved });
    }
    await settle(options, question, 'answers', { tokens, reserved });
    return answer;
  }

  function rest({ retryAfterMs }: MemorydError): void {
    failures++;
    if (retryAfterMs === undefined && failures < failuresBeforeRest) return;
    restsUntil = clock.now().getTime() + Math.max(failures >= failuresBeforeRest ? restMs : 0, retryAfterMs ?? 0);
  }

  return {
    id: model.id,
    async ask(question, signal) {
      signal.throwIfAborted();
      if (!question.cached) return pay(question, signal);
      const { documentId, by } = question.cached;
      const key = answerKey(model.id, question, by);
      const known = await findAnswer(database, key, clock.now());
      if (known) return settle(options, question, 'cached').then(() => known.answer);
      const answer = await pay(question, signal);
      if (answer !== null) await keepAnswer(database, { key, documentId, answer }, clock.now());
      return answer;
    },
    async usage() {
      const usage = await readUsage(database, clock.now());
      return { ...usage, id: model.id, state: stateOf(usage), tokensPerDay };
    },
    close: () => model.close(),
  };
}

async function settle(
  { database, clock }: MeteredModelOptions,
  question: Question,
  outcome: CallOutcome,
  spent = { tokens: 0, reserved: 0 },
): Promise<null> {
  await settleTokens(database, { containerTag: tagOf(question), outcome, ...spent }, clock.now());
  return null;
}

function stateOf({ failedAt, answeredAt, containersOverBudget }: Usage): LanguageModelUsage['state'] {
  const isFailing = failedAt !== null && (answeredAt === null || failedAt > answeredAt);
  if (isFailing) return 'failing';
  return containersOverBudget > 0 ? 'budget spent' : 'ready';
}

function answerKey(model: string, { name, instructions, schema }: Question, by: unknown): string {
  return hash('sha256', JSON.stringify([model, name, instructions, schema, by]), 'base64');
}

function tagOf({ containerTag }: Question): string {
  return containerTag ?? '';
}

/** Undefined for what is no JSON. Models that were not held to JSON put their thoughts before it, or a fence around it. */
function readJson(text: string): unknown {
  const plain = text.replace(/^\s*<think>[\s\S]*?<\/think>/, '').trim();
  const fenced = /^```(?:json)?\s*\n([\s\S]*?)\n\s*```$/.exec(plain)?.[1];
  try {
    return JSON.parse(fenced ?? plain, storable);
  } catch {
    return undefined;
  }
}

/** The database takes neither U+0000 nor halves of surrogate pairs. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? storableText(value) : value;
}
