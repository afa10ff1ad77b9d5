/** A part of a pattern: text as it is, any text without a slash, or any text. Between two texts is a wildcard. */
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
 * Whether the parts match a whole text. It carries the places that can be reached from text to text, so that nothing is
 * tried twice: no pattern takes longer than its parts times the text. Of the places in a row without a slash it needs the
 * first one only, for every wildcard reaches from it what it reaches from the others.
 */
export function matchGlob(parts: readonly GlobPart[], text: string): boolean {
  let places = [0];
  let before: Wildcard | null = null;
  const last = parts.findLastIndex((part) => part !== "");
  for (let index = 0; index <= last; index++) {
    const part = parts[index] ?? "";
    if (typeof part !== "string") {
      // Of several in a row, which only robots.txt has, all cross slashes.
      before = part;
      continue;
    }
    if (part === "") continue;
    if (index === last) return endsWith(part, text, { places, before });
    const next = parts[index + 1];
    const isOneEnough = typeof next === "object" && next.crosses;
    places = afterText(part, text, { places, before, most: isOneEnough ? 1 : Infinity });
    if (places.length === 0) return false;
    before = null;
  }
  const at = places.at(-1) ?? 0;
  return before === null ? at === text.length : before.crosses || endOf(text, at) === text.length;
}

type Wildcard = Exclude<GlobPart, string>;

interface Reached {
  /** In order. */
  readonly places: readonly number[];
  /** The wildcard behind them; null = none. */
  readonly before: Wildcard | null;
}

/** Returns the place of the next slash, or the end of the text. */
function endOf(text: string, from: number): number {
  const slash = text.indexOf("/", from);
  return slash === -1 ? text.length : slash;
}

/** Whether a text ends with a part that begins where it may. */
function endsWith(part: string, text: string, { places, before }: Reached): boolean {
  const start = text.length - part.length;
  if (!text.endsWith(part)) return false;
  if (before === null) return places.includes(start);
  return places.some((at) => at <= start && (before.crosses || endOf(text, at) >= start));
}

/** Returns the places behind a part, in order, the first one of each row without a slash; `most` of them. */
function afterText(
  part: string,
  text: string,
  { places, before, most }: Reached & { readonly most: number },
): number[] {
  if (before === null)
    return places.filter((at) => text.startsWith(part, at)).map((at) => at + part.length);
  const reached: number[] = [];
  let found = -1;
  let from = 0;
  for (const place of places) {
    const end = before.crosses ? text.length : endOf(text, place);
    for (from = Math.max(from, place); from <= end;) {
      if (found < from) found = text.indexOf(part, from);
      if (found === -1) return reached;
      if (found > end) break;
      const behind = found + part.length;
      reached.push(behind);
      if (reached.length >= most) return reached;
      from = Math.max(found, endOf(text, behind) - part.length) + 1;
    }
  }
  return reached;
}
