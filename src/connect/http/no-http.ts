import { MemorydError } from '../../base/errors.ts';
import type { Http } from '../contract.ts';

/** The `ctx.http` of a context that was made without the means to send anything. */
export function noHttp(provider: string): Http {
  const refuse = async () => {
    throw new MemorydError('internal', `This context of the connector ${provider} was made without HTTP.`);
  };
  return { get: refuse, post: refuse, request: refuse, fetch: refuse };
}
