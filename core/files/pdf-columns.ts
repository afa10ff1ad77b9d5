/** A piece of text on a page: where it begins, how wide it is, and whether its line ends with it. */
export interface PlacedText {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** The size of its letters. */
  readonly height: number;
  readonly endsLine: boolean;
}

/** A stretch of a line without wide gaps. */
interface Fragment {
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly y: number;
}

/** Fragments of each column: a table of few rows is none. */
const MIN_FRAGMENTS = 6;
/** Letters that a line of prose has, in the middle of all: cells of a table have fewer. */
const PROSE = 18;

/**
 * Returns the lines of a page in the order of reading. Programs mostly write a page in that order. Where one has written two
 * columns line by line across both, the left column comes first.
 */
export function inReadingOrder(items: readonly PlacedText[]): string {
  const written = items.map(({ text, endsLine }) => text + (endsLine ? "\n" : "")).join("");
  const fragments = fragmentsOf(items);
  const gutter = gutterOf(fragments);
  if (gutter === null || !alternates(fragments, gutter)) return written;
  const [first, last] = bounds(fragments, gutter);
  const between = fragments.slice(first, last + 1);
  const left = between.filter(({ to }) => to <= gutter);
  const right = between.filter(({ from }) => from >= gutter);
  return [...fragments.slice(0, first), ...left, ...right, ...fragments.slice(last + 1)]
    .map(({ text }) => text)
    .join("\n");
}

function fragmentsOf(items: readonly PlacedText[]): Fragment[] {
  const out: Fragment[] = [];
  let isOpen = false;
  for (const item of items) {
    if (item.text.trim() !== "") {
      const last = isOpen ? out.at(-1) : undefined;
      const grown = last === undefined ? null : joined(last, item);
      if (grown === null)
        out.push({ text: item.text, from: item.x, to: item.x + item.width, y: item.y });
      else out[out.length - 1] = grown;
      isOpen = true;
    }
    if (item.endsLine) isOpen = false;
  }
  return out;
}

/** A fragment with the text that goes on behind it; null where that stands apart. */
function joined(fragment: Fragment, { text, x, y, width, height }: PlacedText): Fragment | null {
  const gap = x - fragment.to;
  if (Math.abs(fragment.y - y) >= height / 2 || Math.abs(gap) >= height * 1.2) return null;
  const space = gap > height * 0.15 ? " " : "";
  return { text: fragment.text + space + text, from: fragment.from, to: x + width, y: fragment.y };
}

/** The place between two columns of prose that nothing but a title crosses; null for a page without. */
function gutterOf(fragments: readonly Fragment[]): number | null {
  if (fragments.length < 2 * MIN_FRAGMENTS) return null;
  const starts = [...new Set(fragments.map(({ from }) => Math.round(from)))];
  for (const start of starts.toSorted((a, b) => a - b)) {
    const place = start - 1;
    const left = fragments.filter(({ to }) => to <= place);
    const right = fragments.filter(({ from }) => from >= place);
    const crossing = fragments.length - left.length - right.length;
    if (Math.min(left.length, right.length) < MIN_FRAGMENTS) continue;
    if (crossing * 5 <= fragments.length && isProse(left) && isProse(right)) return place;
  }
  return null;
}

function isProse(fragments: readonly Fragment[]): boolean {
  const lengths = fragments.map(({ text }) => text.length).toSorted((a, b) => a - b);
  return (lengths[Math.floor(lengths.length / 2)] ?? 0) >= PROSE;
}

/** Whether the order of writing goes from one column to the other and back, again and again. */
function alternates(fragments: readonly Fragment[], gutter: number): boolean {
  const sides = fragments.flatMap(({ from, to }) =>
    to <= gutter ? [0] : from >= gutter ? [1] : [],
  );
  const changes = sides.filter((side, n) => n > 0 && side !== sides[n - 1]).length;
  return changes * 2 >= sides.length;
}

/** The first and the last fragment of the columns. */
function bounds(fragments: readonly Fragment[], gutter: number): [number, number] {
  const isIn = ({ from, to }: Fragment): boolean => to <= gutter || from >= gutter;
  return [fragments.findIndex(isIn), fragments.findLastIndex(isIn)];
}
