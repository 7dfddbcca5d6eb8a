import { MemorydError } from '../../base/errors.ts';
import type { Context, Http } from '../../connector/contract.ts';

const refuseAs = (provider: string) => async (): Promise<never> => {
  throw new MemorydError('internal', `This context of the connector ${provider} was made without HTTP.`);
};

/** The `ctx.http` of a context that was made without the means to send anything. */
export function noHttp(provider: string): Http {
  const refuse = refuseAs(provider);
  return { get: refuse, post: refuse, request: refuse, fetch: refuse };
}

/** The same for `ctx.addresses`. */
export function noAddresses(provider: string): Context['addresses'] {
  return refuseAs(provider);
}
