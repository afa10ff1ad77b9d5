import { withoutNeedlessEscapes } from "../net/needless-escapes.ts";
import type { NowOrLater } from "../work/now-or-later.ts";
import { oncePer } from "../work/once-per.ts";
import type { Deprecations } from "./options.ts";
import { isEnforced, type ScheduledEntry } from "./phase.ts";
import { pathEnd, pathStart } from "./translate/pathname.ts";

/** The entries of the table that concern a request, found before anyone answers it. */
export interface Hits {
  readonly entries: readonly ScheduledEntry[];
  /** The pathname below the API root, without needless escapes. */
  readonly path: string;
  /** The request is declined for its framing. */
  readonly badFraming: boolean;
}

/** The entries of a route, by what they are looked for in. */
export interface RouteEntries {
  /** Those of the whole route. */
  readonly endpoints: readonly ScheduledEntry[];
  /** Those of its parameters and fields. */
  readonly finer: readonly ScheduledEntry[];
}

const sorted = oncePer((entries: readonly ScheduledEntry[]): RouteEntries => ({
  endpoints: entries.filter(({ kind }) => kind === "endpoint"),
  finer: entries.filter(({ kind }) => kind !== "endpoint"),
}));
const ofReads = oncePer((entries: readonly ScheduledEntry[]) =>
  sorted(entries.map((entry) => entry.forReads ?? entry)),
);

/** Sorts the entries that a method hits. The same lists come back each time, so that others can be kept for them. */
export function entriesOf({ entries }: Hits, method: string): RouteEntries {
  return method === "GET" || method === "HEAD" ? ofReads(entries) : sorted(entries);
}

/** Finds the entries that concern a request; null without any. */
export function findHits(request: Request, known: Deprecations): Hits | null {
  const { url, method, headers } = request;
  const { framing, match, place } = known;
  if (framing !== null && hasTwoFramings(headers) && isEnforced(framing, known.now())) {
    return { entries: [framing], path: "", badFraming: true };
  }
  if (method === "OPTIONS") return null;
  const start = pathStart(url);
  const end = pathEnd(url, start);
  const escape = url.indexOf("%", start);
  // Most pathnames stay in the address: a copy of each would cost more than the search.
  const isPlain = escape === -1 || escape > end;
  const text = isPlain ? url : withoutNeedlessEscapes(url.slice(start, end));
  const [from, to] = isPlain ? [start, end] : [0, text.length];
  const below = from + place.basePath.length;
  if (below > to || !text.startsWith(place.basePath, from)) return null;
  const entries = match(method, text, below, to);
  return entries.length === 0 ? null : { entries, path: text.slice(below, to), badFraming: false };
}

/** The options of a moment, and what they find in a request. */
interface PresentHits {
  readonly hits: Hits;
  readonly known: Deprecations;
}

/** The options of this moment, and what they find in a request that an entry may concern; null without hits any more. */
export function presentHits(
  request: Request,
  hits: Hits,
  known: Deprecations,
): NowOrLater<PresentHits | null> {
  return known.present === null ? { hits, known } : liveHits(request, known, known.present);
}

async function liveHits(
  request: Request,
  { place }: Deprecations,
  presentOf: NonNullable<Deprecations["present"]>,
): Promise<PresentHits | null> {
  const known = { ...(await presentOf()), place };
  const hits = findHits(request, known);
  return hits === null ? null : { hits, known };
}

/** RFC 9112 section 6.1 calls it an attack to be handled as an error; the platform declines it since 2023-07-01. */
function hasTwoFramings(headers: Headers): boolean {
  return headers.has("content-length") && headers.has("transfer-encoding");
}
