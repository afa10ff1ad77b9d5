/** Reads a position in the feed from a query or header; null when there is none. */
export function positionOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
