import { requirePrincipal } from "../auth/authorize.ts";
import { ApiError } from "../http/api-error.ts";
import { type ArrivingRoom, arrivingRoom } from "../http/arriving-body.ts";
import { errorResponse } from "../http/envelope.ts";
import { jsonObject } from "../http/json.ts";
import { withoutNeedlessEscapes } from "../net/needless-escapes.ts";
import type { Deprecations } from "./options.ts";
import { pathEnd, pathStart } from "./pathname.ts";
import { brownoutEnd, isEnforced, type ScheduledEntry } from "./phase.ts";
import { brownedOut, errorSignals, retired } from "./refuse.ts";
import { type Revision, reviseRequest } from "./revise-request.ts";
import { reviseResponse } from "./revise-response.ts";
import { deprecationSignals, withSignals } from "./signal.ts";

/** The host, as the middleware sees it. */
export interface Host {
  /** Lets the host answer. */
  next(request: Request): Promise<Response>;
  /** Whether the host says that it has a route for the request; null = not known before it answers. */
  isRouted(method: string, path: string): boolean | null;
  /** Whether a route may take the request; without one, its parameters and fields are not ours to judge. */
  mayBeRouted(): boolean;
  /** Whether an answer says that no route took the request. */
  isUnrouted(response: Response): boolean;
}

/** The entries of the table that concern a request, found before anyone answers it. */
export interface Hits {
  readonly entries: readonly ScheduledEntry[];
  /** The pathname below the API root, without needless escapes. */
  readonly path: string;
  /** The request is declined for its framing. */
  readonly badFraming: boolean;
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

/** RFC 9112 section 6.1 calls it an attack to be handled as an error; the platform declines it since 2023-07-01. */
function hasTwoFramings(headers: Headers): boolean {
  return headers.has("transfer-encoding") && headers.has("content-length");
}

/**
 * Answers a request that hit entries: announced by headers, rewritten or refused past their cut-off. A route that the
 * host serves always wins over a retired endpoint.
 */
export async function answerHits(
  request: Request,
  hits: Hits,
  host: Host,
  known: Deprecations,
): Promise<Response> {
  if (hits.badFraming)
    return errorResponse(new ApiError("ambiguous_framing"), "api", { connection: "close" });
  const room = known.platform === undefined ? undefined : arrivingRoom(known.platform, true);
  try {
    return await answerEntries(request, hits, host, { ...known, room });
  } finally {
    room?.release();
  }
}

async function answerEntries(
  request: Request,
  { entries: hits, path }: Hits,
  host: Host,
  known: Deprecations & { readonly room: ArrivingRoom | undefined },
): Promise<Response> {
  const now = known.now();
  const endpoints = hits.filter((entry) => entry.kind === "endpoint");
  const finer = hits.filter((entry) => entry.kind !== "endpoint");
  const routed = host.isRouted(request.method, path);
  const refuse = (error: ApiError, entries: readonly ScheduledEntry[]): Promise<Response> =>
    refusal(request, error, { entries, path, known });

  const before = refusedBefore(request, endpoints, routed, { now, place: known.place });
  if (before !== null) return await refuse(before, endpoints);
  let sent = request;
  let used: readonly ScheduledEntry[] = [];
  const mayBeRouted = routed ?? (finer.length > 0 && host.mayBeRouted());
  const judged = mayBeRouted ? finer : finer.filter(({ isServed }) => isServed);
  if (judged.length > 0) {
    const revision = await reviseRequest(request, judged, now, known).catch(unread(request));
    if (revision.refusal !== null) return await refuse(revision.refusal, revision.used);
    ({ request: sent, used } = revision);
  }
  const response = await host.next(sent);
  if (routed === false || (routed === null && host.isUnrouted(response))) {
    const gone = request.method === "HEAD" ? null : goneAt(endpoints, now, known.place);
    return gone === null
      ? announced(response, endpoints, path, known)
      : await refuse(gone, endpoints);
  }
  const notes =
    sent.url === request.url
      ? []
      : used.filter((entry) => entry.lossless !== "yes" && isEnforced(entry, now));
  const revised = await reviseResponse(response, { entries: finer, notes, now }, known);
  const all = [...new Set([...endpoints, ...used, ...revised.used])];
  return announced(revised.response, all, path, known);
}

interface Moment {
  readonly now: number;
  readonly place: Deprecations["place"];
}

/** The refusal that the host must not act before: a brownout, and the end of a route that is not there or has to end. */
function refusedBefore(
  { method }: Request,
  endpoints: readonly ScheduledEntry[],
  routed: boolean | null,
  { now, place }: Moment,
): ApiError | null {
  const ending = endpoints.filter((entry) => entry.pastCutOff === "refuse");
  // A HEAD is only announced, but where a handler must not run any more.
  const refusable = method === "HEAD" ? ending : endpoints;
  return (
    brownout(refusable, now, place) ?? goneAt(routed === false ? refusable : ending, now, place)
  );
}

function goneAt(
  endpoints: readonly ScheduledEntry[],
  now: number,
  place: Deprecations["place"],
): ApiError | null {
  const entry = endpoints.find((one) => isEnforced(one, now));
  return entry === undefined ? null : retired(entry, place);
}

/** Refuses an unreadable body here, because a host's own error handler may not know our errors. */
function unread(request: Request): (error: unknown) => Revision {
  return (error) => {
    if (error instanceof ApiError) return { request, used: [], refusal: error };
    throw error;
  };
}

function announced(
  response: Response,
  entries: readonly ScheduledEntry[],
  path: string,
  { place }: Deprecations,
): Response {
  return entries.length === 0
    ? response
    : withSignals(response, deprecationSignals(entries, place, path));
}

function brownout(
  endpoints: readonly ScheduledEntry[],
  now: number,
  place: Deprecations["place"],
): ApiError | null {
  for (const entry of endpoints) {
    const end = brownoutEnd(entry, now);
    if (end !== null && !isEnforced(entry, now)) return brownedOut(entry, place, end, now);
  }
  return null;
}

interface RefusedEntries {
  readonly entries: readonly ScheduledEntry[];
  readonly path: string;
  readonly known: Deprecations;
}

/** Refuses only after authentication, so that strangers cannot query the table. */
async function refusal(
  request: Request,
  error: ApiError,
  { entries, path, known: { auth, place, respond } }: RefusedEntries,
): Promise<Response> {
  try {
    if (auth !== "off") await requirePrincipal(auth, request);
  } catch (failure) {
    if (failure instanceof ApiError) return errorResponse(failure, "api");
    throw failure;
  }
  const signals = errorSignals(deprecationSignals(entries, place, path));
  const { id } = jsonObject(error.options.body?.["deprecation"]);
  const entry = entries.find((one) => one.id === id);
  if (respond === undefined || entry === undefined) return errorResponse(error, "api", signals);
  const { status, code, message } = error;
  const own = respond({ status, code, message, entry });
  const headers = new Headers(own.headers);
  for (const [name, value] of Object.entries({ ...error.options.headers, ...signals }))
    headers.set(name, value);
  return new Response(own.body, { status: own.status, statusText: own.statusText, headers });
}
