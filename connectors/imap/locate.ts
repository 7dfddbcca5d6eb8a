import type { JsonObject, Ref } from 'memoryd/connector';
import { fromUidSet, toUidSet } from './requests.ts';
import type { Box, Copy } from './threads.ts';

/** A mail's place. */
export interface Place {
  box: Box;
  uid: number;
}

/** The contract's limit of a locator is 4 KiB. */
const maxLength = 3_500;

/** Where the mails of a thread are; undefined when that is too long to keep. */
export function locatorOf(members: readonly Copy[]): JsonObject | undefined {
  const boxes = Map.groupBy(members, ({ box }) => JSON.stringify([box.path, box.uidValidity]));
  const places = [...boxes].map(([box, copies]) => [
    ...(JSON.parse(box) as [string, string]),
    toUidSet(copies.map(({ uid }) => uid).sort((a, b) => a - b)),
  ]);
  return JSON.stringify(places).length > maxLength ? undefined : { places };
}

/** The places that `locatorOf` wrote into a ref; undefined when there are none. */
export function placesOf({ locator }: Ref): Place[] | undefined {
  const places = locator?.['places'];
  if (!Array.isArray(places)) return undefined;
  return (places as [string, string, string][]).flatMap(([path, uidValidity, uids]) => {
    const box = { path, uidValidity };
    return fromUidSet(uids).map((uid) => ({ box, uid }));
  });
}
