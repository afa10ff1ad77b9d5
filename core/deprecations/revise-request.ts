import type { ErrorFacts } from "../http/api-error.ts";
import { isObject } from "../http/json.ts";
import type { ArrivingRoom } from "../http/arriving-body.ts";
import { copyOf } from "../net/client-address.ts";
import { requestCarries } from "./fields.ts";
import { inspectRequest, requestWithJson } from "./json-body.ts";
import { rawQuery, withQuery } from "./translate/pathname.ts";
import { isEnforced, type ScheduledEntry } from "./phase.ts";
import { refusedParameter, routeOf } from "./refuse.ts";
import type { FanOut } from "./fan-out.ts";
import type { Deprecations } from "./options.ts";
import type { SignalPlace } from "./signal.ts";
import { parseRawQuery } from "./translate/raw-query.ts";

/** The effect on a request of the entries finer than an endpoint. */
export interface Revision {
  /** The request to pass on, rewritten where that is exact. */
  readonly request: Request;
  /** The entries that the request really uses. */
  readonly used: readonly ScheduledEntry[];
  /** The requests to pass on in its place, if several together have its meaning. */
  readonly fanOut?: (FanOut & { readonly refusal: ErrorFacts }) | undefined;
  /** Set when the request must not be passed on. */
  readonly refusal: ErrorFacts | null;
}

type RevisionParts = Pick<Deprecations, "place"> & {
  /** The memory that inspected bodies count against. */
  readonly room: ArrivingRoom | undefined;
};

/** Looks for deprecated parameters and body fields; past their cut-off they are rewritten or refused. */
export async function reviseRequest(
  request: Request,
  entries: readonly ScheduledEntry[],
  now: number,
  known: RevisionParts,
): Promise<Revision> {
  const inQuery = reviseQuery(request, entries, now, known.place);
  if (inQuery.refusal !== null) return inQuery;
  const inBody = await reviseBody(inQuery.request, entries, now, known);
  return { ...inBody, fanOut: inQuery.fanOut, used: [...inQuery.used, ...inBody.used] };
}

function reviseQuery(
  request: Request,
  entries: readonly ScheduledEntry[],
  now: number,
  place: SignalPlace,
): Revision {
  const query = rawQuery(request.url);
  const used = usedInQuery(query, entries);
  const enforced = used.filter((entry) => isEnforced(entry, now));
  const refuse = (entry: ScheduledEntry, instead: string): Revision => ({
    request,
    used,
    refusal: refusedParameter(entry, place, request.url, instead),
  });
  const refused = enforced.find(
    (entry) => entry.mode !== "translate" || entry.pastCutOff === "refuse",
  );
  if (refused !== undefined) return refuse(refused, insteadOf(refused));

  const dropped = new Set(
    enforced.filter((entry) => entry.pastCutOff === "drop").flatMap((e) => e.fields),
  );
  const kept = parseRawQuery(query).filter(({ name }) => !dropped.has(name));
  const rest = kept.map(({ raw }) => raw).join("&");
  let revised = rest;
  let fanOut: Revision["fanOut"];
  for (const plan of new Set(entries.flatMap(({ planQuery }) => planQuery ?? []))) {
    const planned = plan(revised, (id) =>
      entries.some((one) => one.id === id && isEnforced(one, now)),
    );
    const entry =
      planned.kind === "refuse"
        ? (entries.find(({ id }) => id === planned.id) ?? used[0])
        : undefined;
    if (planned.kind === "refuse" && entry !== undefined) return refuse(entry, planned.instead);
    if (planned.kind === "rewrite") revised = planned.query;
    if (planned.kind !== "fan-out") continue;
    const { id, instead } = planned;
    const listed = entries.find((one) => one.id === id) ?? used[0];
    if (listed === undefined) continue;
    fanOut = { ...planned, refusal: refusedParameter(listed, place, request.url, instead) };
  }
  return {
    request:
      revised === query
        ? request
        : copyOf(request, new Request(withQuery(request.url, revised), request)),
    used,
    fanOut,
    refusal: null,
  };
}

/** The advice for a parameter or a field that is refused. */
function insteadOf({ rule, replacement }: ScheduledEntry): string {
  if (rule !== null) return rule;
  const [use] = replacement;
  return use === undefined ? "leave it out" : `use ${use.method} ${use.path}`;
}

/** The parameters of a request that have ended, and what its `messages` say of them where no route took it. */
export function endedInQuery(
  { url }: Request,
  entries: readonly ScheduledEntry[],
  now: number,
): { readonly ended: readonly ScheduledEntry[]; readonly notes: readonly string[] } {
  const ended = usedInQuery(rawQuery(url), entries).filter((entry) => isEnforced(entry, now));
  const notes = ended.map((entry) => {
    const what = `${entry.fields.join(", ")} of ${routeOf(entry)}`;
    return `${what} is no longer supported (${entry.id}). Instead: ${insteadOf(entry)}`;
  });
  return { ended, notes };
}

function usedInQuery(query: string, entries: readonly ScheduledEntry[]): ScheduledEntry[] {
  const ofQuery = entries.filter(({ kind }) => kind === "query");
  const names = new Set(parseRawQuery(query).map(({ name }) => name));
  const readers = new Set(ofQuery.flatMap(({ usedIds }) => usedIds ?? []));
  const ids = new Set([...readers].flatMap((usedIds) => usedIds(query)));
  return ofQuery.filter(({ id, fields, usedIds }) =>
    usedIds === undefined ? fields.some((field) => names.has(field)) : ids.has(id),
  );
}

async function reviseBody(
  request: Request,
  entries: readonly ScheduledEntry[],
  now: number,
  { place, room }: RevisionParts,
): Promise<Revision> {
  const candidates = entries.filter(
    ({ where }) => where === "request" || where === "request and response",
  );
  const inspected = candidates.length === 0 ? null : await inspectRequest(request, room);
  if (inspected === null) return { request, used: [], refusal: null };
  const { message, json } = inspected;
  const used = candidates.filter((entry) => requestCarries(entry, json));
  const enforced = used.filter((entry) => isEnforced(entry, now));
  const refused = enforced.find(
    (entry) => entry.mode !== "translate" || entry.pastCutOff === "refuse",
  );
  if (refused !== undefined) {
    const what = `${refused.fields.join(", ")} of ${routeOf(refused)}`;
    const refusal = refusedParameter(refused, place, what, insteadOf(refused));
    return { request: message, used, refusal };
  }
  const modern = isObject(json)
    ? enforced.reduce((body, entry) => entry.modernRequest?.(body) ?? body, json)
    : json;
  return {
    request: isObject(modern) && modern !== json ? requestWithJson(inspected, modern) : message,
    used,
    refusal: null,
  };
}
