import type { LookupAddress } from 'node:dns';
import type { AddressGuard } from '../../base/address-guard.ts';
import { MemorydError } from '../../base/errors.ts';
import { badConfig, transient, type HostAddress } from '../../connector/contract.ts';
import { remedy } from './origins.ts';

/** The addresses of a host, also of one that is an address itself; see `Context.addresses`. */
export async function checkedAddresses(guard: AddressGuard, host: string): Promise<HostAddress[]> {
  const found = await new Promise<LookupAddress[]>((resolve, reject) => {
    guard.lookup(host, { all: true }, (error, addresses) => {
      if (error) reject(judge(host, error));
      else resolve(addresses as LookupAddress[]);
    });
  });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

function judge(host: string, error: Error): Error {
  if (MemorydError.is(error)) return badConfig(error.message, remedy);
  return transient(`${host} has no address (${(error as { code?: string }).code ?? 'no answer'}).`, error);
}
