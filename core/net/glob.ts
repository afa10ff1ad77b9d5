/** A part of a pattern: text as it is, any text without a slash, or any text. */
export type GlobPart = string | { readonly crosses: boolean };

/** Wildcards of one pattern: what matching takes grows with them. */
export const WILDCARDS = 10;

/** The parts of a pattern. Stars in a row that are more than two cross slashes, too. */
export function globParts(pattern: string): GlobPart[] {
  return pattern
    .split(/(?<stars>\*+)/u)
    .filter((part) => part !== "")
    .map((part) => (part.startsWith("*") ? { crosses: part.length > 1 } : part));
}

/**
 * Whether the parts match a whole text. It carries the places that can be reached from part to part, so that no pattern
 * takes longer than its parts times the text: nothing is tried twice.
 */
export function matchGlob(parts: readonly GlobPart[], text: string): boolean {
  let places = [0];
  for (const part of parts) {
    if (places.length === 0) return false;
    places = typeof part === "string" ? afterText(part, text, places) : after(part, text, places);
  }
  return places.at(-1) === text.length;
}

function afterText(part: string, text: string, places: readonly number[]): number[] {
  return places.filter((at) => text.startsWith(part, at)).map((at) => at + part.length);
}

/** `places` is in order, and so is the result. */
function after(
  { crosses }: { readonly crosses: boolean },
  text: string,
  places: readonly number[],
): number[] {
  const reached: number[] = [];
  let next = 0;
  for (const place of places) {
    if (place < next) continue;
    const slash = crosses ? -1 : text.indexOf("/", place);
    const end = slash === -1 ? text.length : slash;
    for (let at = place; at <= end; at++) reached.push(at);
    next = end + 1;
  }
  return reached;
}
