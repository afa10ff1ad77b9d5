import { requirePrincipal } from "../auth/authorize.ts";
import { ApiError } from "../http/api-error.ts";
import { type ArrivingRoom, arrivingRoom } from "../http/arriving-body.ts";
import { errorResponse } from "../http/envelope.ts";
import { withoutNeedlessEscapes } from "../net/needless-escapes.ts";
import { endsInResponse, modernResponse, responseCarries } from "./fields.ts";
import { inspectResponse, withJson } from "./json-body.ts";
import type { Deprecations } from "./options.ts";
import { pathEnd, pathStart } from "./pathname.ts";
import { brownoutEnd, isEnforced, type ScheduledEntry } from "./phase.ts";
import { brownedOut, errorSignals, retired } from "./refuse.ts";
import { type Revision, reviseRequest } from "./revise-request.ts";
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

  // A HEAD is only announced.
  const refusable = request.method === "HEAD" ? [] : endpoints;
  const dark = brownout(refusable, now, known);
  if (dark !== null) return await refuse(dark, endpoints);
  const enforced = refusable.find((entry) => isEnforced(entry, now));
  const gone = enforced === undefined ? null : retired(enforced, known.place);
  // Refused before the host answers: a host that has no such route must not act on the request.
  if (routed === false && gone !== null) return await refuse(gone, endpoints);
  let sent = request;
  let used: readonly ScheduledEntry[] = [];
  if (finer.length > 0 && (routed ?? host.mayBeRouted())) {
    const revision = await reviseRequest(request, finer, now, known).catch(unread(request));
    if (revision.refusal !== null) return await refuse(revision.refusal, revision.used);
    ({ request: sent, used } = revision);
  }
  const response = await host.next(sent);
  if (routed === false || (routed === null && host.isUnrouted(response))) {
    return gone === null
      ? announced(response, endpoints, path, known)
      : await refuse(gone, endpoints);
  }
  const notes =
    sent.url === request.url
      ? []
      : used.filter((entry) => entry.lossless !== "yes" && isEnforced(entry, now));
  const revised = await reviseResponse(response, finer, notes, now);
  const all = [...new Set([...endpoints, ...used, ...revised.used])];
  return announced(revised.response, all, path, known);
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
  { place }: Deprecations,
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
  { entries, path, known: { auth, place } }: RefusedEntries,
): Promise<Response> {
  try {
    if (auth !== "off") await requirePrincipal(auth, request);
  } catch (failure) {
    if (failure instanceof ApiError) return errorResponse(failure, "api");
    throw failure;
  }
  return errorResponse(error, "api", errorSignals(deprecationSignals(entries, place, path)));
}

interface RevisedResponse {
  readonly response: Response;
  readonly used: readonly ScheduledEntry[];
}

async function reviseResponse(
  response: Response,
  entries: readonly ScheduledEntry[],
  notes: readonly ScheduledEntry[],
  now: number,
): Promise<RevisedResponse> {
  const candidates = entries.filter(
    ({ kind, where }) =>
      kind === "behaviour" || where === "response" || where === "request and response",
  );
  const wanted = candidates.length > 0 || notes.length > 0;
  const inspected = wanted ? await inspectResponse(response) : null;
  if (inspected === null) return { response, used: [] };
  const used = candidates.filter((entry) => responseCarries(entry, inspected.json));
  const ended = used.filter((entry) => endsInResponse(entry) && isEnforced(entry, now));
  if (ended.length + notes.length === 0) return { response: inspected.message, used };
  const body = ended.reduce((json, entry) => modernResponse(entry, json), inspected.json);
  return { response: withJson(inspected, noted(body, notes)), used };
}

/** A rewrite that could mean something else is never silent: SDKs ignore `messages`, but people see them. */
function noted(body: unknown, notes: readonly ScheduledEntry[]): unknown {
  if (
    typeof body !== "object" ||
    body === null ||
    !("messages" in body) ||
    !Array.isArray(body.messages)
  )
    return body;
  const added = notes.map(({ id, fields, rule }) => ({
    code: NOTE_CODE,
    message: `The deprecated ${fields.join(", ")} was rewritten (${id}). ${rule ?? ""}`.trim(),
  }));
  return { ...body, messages: [...body.messages, ...added] };
}

/** Our own number for notes about a rewritten request; `codes.ts` holds those of errors. */
const NOTE_CODE = 10414;
