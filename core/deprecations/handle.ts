import { requirePrincipal } from "../auth/authorize.ts";
import { ApiError, type ErrorFacts } from "../http/api-error.ts";
import { type ArrivingRoom, arrivingRoom } from "../http/arriving-body.ts";
import { errorResponse } from "../http/envelope.ts";
import { jsonObject } from "../http/json.ts";
import { answerFanOut } from "./fan-out.ts";
import { entriesOf, type Hits, presentHits, type RouteEntries } from "./hits.ts";
import type { Deprecations } from "./options.ts";
import { brownoutEnd, isEnforced, type ScheduledEntry } from "./phase.ts";
import { inOldForm, type Pin, pinOf, plainRequest } from "./pin.ts";
import { brownedOut, errorSignals, refusalText, retired } from "./refuse.ts";
import { answerRewritten, twice } from "./rewrite-call.ts";
import { endedInQuery, type Revision, reviseRequest } from "./revise-request.ts";
import { reviseResponse, rewriteNote, withNotes } from "./revise-response.ts";
import { deprecationSignals, withSignals } from "./signal.ts";

/** The host, as the middleware sees it. */
export interface Host {
  /** Lets the host answer. */
  next(request: Request): Promise<Response>;
  /** Lets the host answer a further request, in place of the one; null where it cannot be asked so. */
  readonly ask: ((request: Request) => Promise<Response>) | null;
  /** Whether the host says that it has a route for the request; null = not known before it answers. */
  isRouted(method: string, path: string): boolean | null;
  /** Whether a route may take the request; without one, its parameters and fields are not ours to judge. */
  mayBeRouted(): boolean;
  /** Whether an answer says that no route took the request. */
  isUnrouted(response: Response): boolean;
}

/** Answers a request that may hit entries: as a hit if it is one at this moment, else as the host does. */
export async function answerFound(
  request: Request,
  maybe: Hits,
  root: Deprecations,
  hostOf: (known: Deprecations) => Host,
): Promise<Response> {
  const present = await presentHits(request, maybe, root);
  if (present === null) return await hostOf(root).next(request);
  const { hits, known } = present;
  return await answerHits(request, hits, hostOf(known), known);
}

/**
 * Answers a request that hit entries: announced by headers, rewritten or refused past their cut-off. A route that the
 * host serves always wins over a retired endpoint.
 */
export async function answerHits(
  given: Request,
  hits: Hits,
  host: Host,
  known: Deprecations,
): Promise<Response> {
  if (hits.badFraming)
    return errorResponse(new ApiError("ambiguous_framing"), "api", { connection: "close" });
  const now = known.now();
  const { endpoints, finer } = entriesOf(hits, given.method);
  const pin = finer.length === 0 ? null : await pinOf(given, finer, known).catch(asApiError);
  if (pin instanceof ApiError) return errorResponse(pin, "api");
  const request = pin === null ? given : plainRequest(given);
  const room = known.platform === undefined ? undefined : arrivingRoom(known.platform, true);
  try {
    return await answerArrival(request, { hits, endpoints, finer, pin, now, host, known, room });
  } finally {
    room?.release();
  }
}

/** A request that hit entries, as the moment sees them. */
interface Arrival extends RouteEntries {
  readonly hits: Hits;
  readonly pin: Pin | null;
  readonly now: number;
  readonly host: Host;
  readonly known: Deprecations;
  /** The memory that inspected bodies count against. */
  readonly room: ArrivingRoom | undefined;
}

async function answerArrival(request: Request, arrival: Arrival): Promise<Response> {
  const { hits, endpoints, host, known, room } = arrival;
  const { path } = hits;
  const routed = host.isRouted(request.method, path);
  const rewritable = routed === true ? undefined : rewritableBy(arrival);
  if (rewritable === undefined) return await answerPlain(request, routed, arrival);
  const { basePath } = known.place;
  const rewrite = async (one: Request): Promise<Response | null> => {
    const call = { request: one, entry: rewritable, path, basePath, known, room };
    const answer = await answerRewritten(call, host);
    return answer === null ? null : announced(answer, endpoints, arrival);
  };
  if (routed === false) {
    const rewritten = await rewrite(request).catch(asApiError);
    if (rewritten instanceof ApiError) return await refusal(request, rewritten, endpoints, arrival);
    return rewritten ?? (await answerPlain(request, routed, arrival));
  }
  // The host has the first word, because it may serve the route.
  const { first, second } = await twice(request, room);
  return await answerPlain(
    first,
    routed,
    arrival,
    second === null ? undefined : () => rewrite(second),
  );
}

/** The endpoint that has ended, whose calls can be rewritten. */
function rewritableBy({ endpoints, finer, now, host }: Arrival): ScheduledEntry | undefined {
  if (host.ask === null || finer.length > 0) return undefined;
  return endpoints.find(
    (entry) =>
      entry.rewriting !== undefined && entry.mode === "translate" && isEnforced(entry, now),
  );
}

async function answerPlain(
  request: Request,
  routed: boolean | null,
  arrival: Arrival,
  rewrite?: () => Promise<Response | null>,
): Promise<Response> {
  const { endpoints, finer, now, host, known } = arrival;
  const refuse = (error: ErrorFacts, entries: readonly ScheduledEntry[]): Promise<Response> =>
    refusal(request, error, entries, arrival);

  const before = refusedBefore(request, routed, arrival);
  if (before !== null) return await refuse(before, endpoints);
  const revision = await revisionOf(request, routed, arrival);
  if (revision.refusal !== null) return await refuse(revision.refusal, revision.used);
  const response = await answerOf(revision, host);
  if ("kind" in response) return await refuse(response, revision.used);
  if (routed === false || (routed === null && host.isUnrouted(response))) {
    const rewritten = (await rewrite?.()) ?? null;
    if (rewritten !== null) return rewritten;
    const gone = request.method === "HEAD" ? null : goneAt(endpoints, arrival);
    if (gone !== null) return await refuse(gone, endpoints);
    const { ended, notes } = endedInQuery(request, finer, now);
    const noted = notes.length === 0 ? response : await withNotes(response, notes, known);
    return announced(noted, [...endpoints, ...ended], arrival);
  }
  return await answerRouted(request, response, revision, arrival);
}

/** The answer of a route that the host has: without what has ended, or as a pinned client knows it. */
async function answerRouted(
  request: Request,
  response: Response,
  revision: Revision,
  arrival: Arrival,
): Promise<Response> {
  const { hits, endpoints, finer, pin, now, host, known } = arrival;
  const notes = rewriteNotes(request, revision, now);
  const entries = pin === null ? finer : finer.filter((entry) => !pin.entries.includes(entry));
  const revised = await reviseResponse(response, { entries, notes, now }, known);
  const origin = { request, path: hits.path, ask: host.ask, known };
  const old =
    pin === null ? null : await inOldForm(revised.response, pin, origin).catch(asApiError);
  if (old instanceof ApiError) return errorResponse(old, "api");
  const more = [...revision.used, ...revised.used, ...(old?.used ?? [])];
  const used = more.length === 0 ? endpoints : [...new Set([...endpoints, ...more])];
  return announced(old?.response ?? revised.response, used, arrival);
}

/** The effect on a request of the entries finer than an endpoint, where a route may take it. */
async function revisionOf(
  request: Request,
  routed: boolean | null,
  { finer, now, host, known: { place }, room }: Arrival,
): Promise<Revision> {
  const none = { request, used: [], refusal: null };
  const mayBeRouted = routed ?? (finer.length > 0 && host.mayBeRouted());
  const judged = mayBeRouted ? finer : finer.filter(({ isServed }) => isServed);
  if (judged.length === 0) return none;
  try {
    return await reviseRequest(request, judged, now, { place, room });
  } catch (error) {
    // An unreadable body is refused here, because a host's own error handler may not know our errors.
    return { ...none, refusal: asApiError(error) };
  }
}

/** The rewriting that an answer has to say. */
function rewriteNotes(
  { url }: Request,
  { request, used, fanOut }: Revision,
  now: number,
): readonly string[] {
  if (request.url === url && fanOut === undefined) return [];
  return used
    .filter((entry) => entry.lossless !== "yes" && isEnforced(entry, now))
    .map(rewriteNote);
}

/** The host's answer, merged where several requests have the meaning of one; the refusal where that cannot be. */
async function answerOf({ request, fanOut }: Revision, host: Host): Promise<Response | ErrorFacts> {
  if (fanOut === undefined) return await host.next(request);
  const merged = host.ask === null ? null : await answerFanOut(request, fanOut, host.ask);
  return merged ?? fanOut.refusal;
}

/** The refusal that the host must not act before: a brownout, and the end of a route that is not there or has to end. */
function refusedBefore(
  { method }: Request,
  routed: boolean | null,
  arrival: Arrival,
): ErrorFacts | null {
  const { endpoints, now, known } = arrival;
  if (endpoints.length === 0) return null;
  const ending = endpoints.filter((entry) => entry.pastCutOff === "refuse");
  // A HEAD is only announced, but where a handler must not run any more.
  const refusable = method === "HEAD" ? ending : endpoints;
  const dark = refusable.find(
    (entry) => brownoutEnd(entry, now) !== null && !isEnforced(entry, now),
  );
  if (dark !== undefined) return brownedOut(dark, known.place, now);
  return goneAt(routed === false ? refusable : ending, arrival);
}

function goneAt(endpoints: readonly ScheduledEntry[], { now, known }: Arrival): ErrorFacts | null {
  const entry = endpoints.find((one) => isEnforced(one, now));
  return entry === undefined ? null : retired(entry, known.place);
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}

function announced(
  response: Response,
  entries: readonly ScheduledEntry[],
  { hits, known }: Arrival,
): Response {
  if (entries.length === 0) return response;
  return withSignals(response, deprecationSignals(entries, known.place, hits.path));
}

/** Refuses only after authentication, so that strangers cannot query the table. */
async function refusal(
  request: Request,
  error: ErrorFacts,
  entries: readonly ScheduledEntry[],
  { hits: { path }, known: { auth, place, respond } }: Arrival,
): Promise<Response> {
  try {
    if (auth !== "off") await requirePrincipal(auth, request);
  } catch (failure) {
    if (failure instanceof ApiError) return errorResponse(failure, "api");
    throw failure;
  }
  const signals =
    entries.length === 0 ? {} : errorSignals(deprecationSignals(entries, place, path));
  const { id } = respond === undefined ? {} : jsonObject(error.options.body?.["deprecation"]);
  const entry = entries.find((one) => one.id === id);
  if (respond === undefined || entry === undefined)
    return errorResponse(error, "api", signals, refusalText(error));
  const { status, code, message } = error;
  const own = respond({ status, code, message, entry });
  const headers = new Headers(own.headers);
  for (const [name, value] of Object.entries({ ...error.options.headers, ...signals }))
    headers.set(name, value);
  return new Response(own.body, { status: own.status, statusText: own.statusText, headers });
}
