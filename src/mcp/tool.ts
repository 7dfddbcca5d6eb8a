import type { Static, TSchema } from 'typebox';
import type { Caller } from '../account/access.ts';
import { MemorydError } from '../base/errors.ts';
import { storableText } from '../base/storable.ts';
import { oldScopeIn } from '../api/body.ts';
import type { RouteContext } from '../api/request.ts';
import { createCheck, validationFailed } from '../api/validation.ts';

/** The context of a call of a tool, a resource or a prompt. */
export interface McpCall extends Pick<RouteContext, 'services' | 'config' | 'clock'> {
  caller: Caller;
  /** Aborts when the client has gone away. */
  signal: AbortSignal;
}

export interface ToolAnswer<Structured = Record<string, unknown>> {
  /** For models and people to read. */
  text: string;
  /** As the tool's output schema says. */
  structured: Structured;
}

interface ToolDescription {
  name: string;
  title: string;
  description: string;
  /** Its effect on stored content; clients ask their user accordingly. */
  effect: 'reads' | 'starts work' | 'changes';
}

export interface Tool extends ToolDescription {
  input: object;
  output: object;
  /** Throws `MemorydError`; `validation_failed` when the arguments do not match the input schema. */
  run(given: unknown, call: McpCall): Promise<ToolAnswer>;
}

/** A tool from its schemas and what it does with arguments that match them. */
export function defineTool<Input extends TSchema, Output extends TSchema>(
  description: ToolDescription & { input: Input; output: Output },
  work: (input: Static<Input>, call: McpCall) => Promise<ToolAnswer<Static<Output> & Record<string, unknown>>>,
): Tool {
  const check = createCheck(description.input);
  return {
    ...description,
    async run(given = {}, call) {
      const removed = oldScopeIn(given);
      if (removed) throw new MemorydError('invalid_request', removed);
      const issues = check(given);
      if (issues.length > 0) throw validationFailed(issues);
      return work(storable(withContainerTag(given as object)) as Static<Input>, call);
    },
  };
}

/** `namespace` as `containerTag`, which is what the services know it as. */
function withContainerTag(given: object): object {
  const { namespace, ...others } = given as { namespace?: string; containerTag?: string };
  if (namespace === undefined) return given;
  if (others.containerTag === undefined) return { ...others, containerTag: namespace };
  throw new MemorydError('invalid_request', 'Only one of namespace and containerTag can be given');
}

/** The database's text holds no U+0000, and no half characters. */
function storable(given: unknown): unknown {
  if (typeof given === 'string') return storableText(given);
  if (Array.isArray(given)) return given.map(storable);
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, storable(value)]));
}
