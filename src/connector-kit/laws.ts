import type { Law } from './law.ts';
import { authorizationLaws } from './laws/authorization.ts';
import { departureLaws } from './laws/departure.ts';
import { descriptionLaws } from './laws/description.ts';
import { failureLaws } from './laws/failures.ts';
import { interruptionLaws } from './laws/interruption.ts';
import { itemLaws } from './laws/items.ts';
import { leftOutLaws } from './laws/left-out.ts';
import { limitLaws } from './laws/limits.ts';
import { movementLaws } from './laws/movement.ts';
import { reportLaws } from './laws/reports.ts';
import { secrecyLaws } from './laws/secrecy.ts';
import { shortListingLaws } from './laws/short-listing.ts';
import { sizeLaws } from './laws/size.ts';
import { steadinessLaws } from './laws/steadiness.ts';

/** All laws, by their numbers. */
export const laws: readonly Law[] = [
  ...descriptionLaws,
  ...steadinessLaws,
  ...interruptionLaws,
  ...movementLaws,
  ...failureLaws,
  ...itemLaws,
  ...departureLaws,
  ...limitLaws,
  ...authorizationLaws,
  ...sizeLaws,
  ...reportLaws,
  ...secrecyLaws,
  ...leftOutLaws,
  ...shortListingLaws,
].toSorted((left, right) => left.number - right.number);
