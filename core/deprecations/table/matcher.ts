/** The parts of an entry that a matcher needs. */
export interface Matchable {
  readonly methods: readonly string[];
  readonly path: string | null;
  readonly except: readonly string[];
  readonly isAnyCase?: boolean;
}

/**
 * Finds the entries for `url[start, end)`, the pathname below the API root: all entries of the most specific template
 * that has the method. The result is shared: a call allocates nothing.
 */
export type Match<T> = (method: string, url: string, start: number, end: number) => readonly T[];

interface Node<T> {
  readonly segment: string;
  readonly anyCase: boolean;
  /** A live route beside a template: the search ends here, also for what lies below. */
  readonly live: boolean;
  /** The template ends in `/**`: whatever lies below belongs to it. */
  deep: boolean;
  /** Children with a fixed segment, by the segment's length, so that most are never compared. */
  readonly fixed: Node<T>[][];
  parameter: Node<T> | null;
  readonly hits: Map<string, T[]>;
}

const NOTHING: readonly never[] = [];

/**
 * Compiles entries into a trie of path segments. A fixed segment wins over a parameter, names of parameters do not
 * matter, one trailing slash is tolerated, nothing is decoded. A template that ends in `/**` has all paths below it.
 */
export function matcher<T extends Matchable>(entries: readonly T[]): Match<T> {
  // Built for the first request: a program that only starts does not pay for it.
  let root: Node<T> | undefined;
  return (method, url, start, end) => {
    const stop = end - 1 > start && url.charCodeAt(end - 1) === SLASH ? end - 1 : end;
    // A HEAD answers like its GET, so it is announced like it.
    const wanted = method === "HEAD" ? "GET" : method;
    root ??= trieOf(entries);
    return walk(root, { method: wanted, url, end: stop }, start) ?? NOTHING;
  };
}

function trieOf<T extends Matchable>(entries: readonly T[]): Node<T> {
  const root = node<T>("");
  for (const entry of entries) {
    if (entry.path !== null && entry.path !== "/*") insert(root, entry, entry.path);
  }
  return root;
}

const SLASH = 47;

function node<T>(segment: string, anyCase: boolean = false, live: boolean = false): Node<T> {
  return { segment, anyCase, live, deep: false, fixed: [], parameter: null, hits: new Map() };
}

function insert<T extends Matchable>(root: Node<T>, entry: T, path: string): void {
  let at = root;
  let parent = root;
  const isDeep = path.endsWith("/**");
  const segments = (isDeep ? path.slice(0, -3) : path).split("/").slice(1);
  for (const [index, segment] of segments.entries()) {
    parent = at;
    at = segment.startsWith("{")
      ? (at.parameter ??= node(segment))
      : fixedChild(at, segment, entry.isAnyCase === true && index === segments.length - 1);
  }
  if (isDeep) at.deep = true;
  for (const method of entry.methods) at.hits.set(method, [...(at.hits.get(method) ?? []), entry]);
  for (const segment of entry.except) fixedChild(parent, segment, false, true);
}

function fixedChild<T>(
  parent: Node<T>,
  segment: string,
  anyCase: boolean,
  live: boolean = false,
): Node<T> {
  const siblings = (parent.fixed[segment.length] ??= []);
  const known = siblings.find((child) => child.segment === segment);
  if (known !== undefined) return known;
  const child = node<T>(segment, anyCase, live);
  siblings.push(child);
  return child;
}

/** A request whose pathname ends at `end` of its address. */
interface Asked {
  readonly method: string;
  readonly url: string;
  readonly end: number;
}

/** The entries below `at`; empty where a live route lies; null when this branch has nothing, so another may be tried. */
function walk<T>(at: Node<T>, asked: Asked, from: number): readonly T[] | null {
  const { method, url, end } = asked;
  if (at.live) return NOTHING;
  if (from >= end || at.deep) return at.hits.get(method) ?? at.hits.get("*") ?? null;
  const slash = url.indexOf("/", from + 1);
  const to = slash === -1 || slash > end ? end : slash;
  const length = to - from - 1;
  const siblings = at.fixed[length];
  if (siblings !== undefined) {
    for (const child of siblings) {
      if (!isAt(url, from + 1, child)) continue;
      const found = walk(child, asked, to);
      if (found !== null) return found;
      break;
    }
  }
  return at.parameter === null || length === 0 ? null : walk(at.parameter, asked, to);
}

function isAt<T>(url: string, from: number, { segment, anyCase }: Node<T>): boolean {
  if (!anyCase) return url.startsWith(segment, from);
  for (let i = 0; i < segment.length; i++) {
    // The segments with this freedom are lower-case letters only: setting bit 5 folds the case of a letter.
    if ((url.charCodeAt(from + i) | 32) !== segment.charCodeAt(i)) return false;
  }
  return true;
}
