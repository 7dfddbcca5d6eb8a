import type { UnreadPart } from '../connector/contract.ts';

/** Parts that are told apart; a source in which more cannot be read was not seen. */
export const maxUnread = 200;
const shownParts = 5;

/** Says which parts of a source could not be read, why, and what that means for what memory holds of them. */
export function unreadMessage(parts: readonly UnreadPart[]): string {
  const shown = parts.slice(0, shownParts).map(({ path, reason }) => `${path} (${reason})`);
  const more = parts.length > shownParts ? `, and ${parts.length - shownParts} more` : '';
  return `Could not be read: ${shown.join(', ')}${more}. What memory holds of it stays as it was.`;
}
