import { type ErrorFacts, errorFacts } from "../http/api-error.ts";
import { isObject } from "../http/json.ts";
import { oncePer } from "../work/once-per.ts";
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
import {
  hasMoreParameters,
  joinParameters,
  parseRawQuery,
  type RawParameter,
} from "./translate/raw-query.ts";

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
  const { inBodies } = sorted(entries);
  if (inQuery.refusal !== null || inBodies.length === 0) return inQuery;
  const inBody = await reviseBody(inQuery.request, inBodies, now, known);
  return { ...inBody, fanOut: inQuery.fanOut, used: [...inQuery.used, ...inBody.used] };
}

/** Parameters of a query that are looked at: each of up to 50 requests of a fan-out repeats them. */
const PARAMETERS = 2000;
const TOO_MANY = `The query has more than ${PARAMETERS} parameters. This route has parameters that ended, and does not look for them in so many: send fewer.`;

function reviseQuery(
  request: Request,
  all: readonly ScheduledEntry[],
  now: number,
  place: SignalPlace,
): Revision {
  const { inQueries: entries } = sorted(all);
  const query = entries.length === 0 ? "" : rawQuery(request.url);
  if (query === "") return { request, used: [], refusal: null };
  if (hasMoreParameters(query, PARAMETERS))
    return {
      request,
      used: [],
      refusal: errorFacts("invalid_request", { message: TOO_MANY }),
    };
  const parameters = parseRawQuery(query);
  const used = usedAmong(parameters, all);
  const enforced = used.filter((entry) => isEnforced(entry, now));
  const refuse = (entry: ScheduledEntry, instead: string): ErrorFacts =>
    refusedParameter(entry, place, request.url, instead);
  const refused = enforced.find(
    (entry) => entry.mode !== "translate" || entry.pastCutOff === "refuse",
  );
  if (refused !== undefined) return { request, used, refusal: refuse(refused, insteadOf(refused)) };

  const isDropped = ({ name }: RawParameter): boolean =>
    enforced.some(({ pastCutOff, fields }) => pastCutOff === "drop" && fields.includes(name));
  const left = parameters.filter((one) => !isDropped(one));
  const planned = plannedQuery(left, all, now);
  const listed = entries.find(({ id }) => id === planned.refused?.id) ?? used[0];
  const { fanOut } = planned;
  const refusal =
    planned.refused === null || listed === undefined
      ? null
      : refuse(listed, planned.refused.instead);
  if (fanOut === undefined && refusal !== null) return { request, used, refusal };
  const { query: revised } = planned;
  const passed =
    revised === query
      ? request
      : copyOf(request, new Request(withQuery(request.url, revised), request));
  const merged = fanOut === undefined || refusal === null ? undefined : { ...fanOut, refusal };
  return { request: passed, used, fanOut: merged, refusal: null };
}

interface PlannedQuery {
  readonly query: string;
  /** The requests to pass on in its place. */
  readonly fanOut?: FanOut | undefined;
  /** The entry that a query is refused for; with `fanOut` only where a host cannot be asked. */
  readonly refused: { readonly id: string; readonly instead: string } | null;
}

/** Lets the entries of a route rewrite the parameters of a query. */
function plannedQuery(
  parameters: readonly RawParameter[],
  all: readonly ScheduledEntry[],
  now: number,
): PlannedQuery {
  const { inQueries, planners } = sorted(all);
  let [query, left] = [joinParameters(parameters), parameters];
  let several: Pick<PlannedQuery, "fanOut" | "refused"> = { refused: null };
  for (const plan of planners) {
    const planned = plan(left, (id) =>
      inQueries.some((one) => one.id === id && isEnforced(one, now)),
    );
    if (planned.kind === "refuse") return { query, refused: planned };
    if (planned.kind === "fan-out") several = { fanOut: planned, refused: planned };
    if (planned.kind !== "rewrite") continue;
    query = planned.query;
    left = parseRawQuery(query);
  }
  return { query, ...several };
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
  const query = rawQuery(url);
  const parameters = hasMoreParameters(query, PARAMETERS) ? [] : parseRawQuery(query);
  const ended = usedAmong(parameters, entries).filter((entry) => isEnforced(entry, now));
  const notes = ended.map((entry) => {
    const what = `${entry.fields.join(", ")} of ${routeOf(entry)}`;
    return `${what} is no longer supported (${entry.id}). Instead: ${insteadOf(entry)}`;
  });
  return { ended, notes };
}

/** The entries that requests are looked at for, sorted once for each list. */
const sorted = oncePer((all: readonly ScheduledEntry[]) => {
  const entries = all.filter(({ kind }) => kind === "query");
  return {
    inQueries: entries,
    inBodies: all.filter(({ where }) => where === "request" || where === "request and response"),
    planners: [...new Set(entries.flatMap(({ planQuery }) => planQuery ?? []))],
    readers: [...new Set(entries.flatMap(({ usedIds }) => usedIds ?? []))],
  };
});

function usedAmong(
  parameters: readonly RawParameter[],
  all: readonly ScheduledEntry[],
): ScheduledEntry[] {
  const { inQueries, readers } = sorted(all);
  const ids = readers.flatMap((usedIds) => usedIds(parameters));
  return inQueries.filter(({ id, fields, usedIds }) =>
    usedIds === undefined ? parameters.some(({ name }) => fields.includes(name)) : ids.includes(id),
  );
}

async function reviseBody(
  request: Request,
  entries: readonly ScheduledEntry[],
  now: number,
  { place, room }: RevisionParts,
): Promise<Revision> {
  const inspected = await inspectRequest(request, room);
  if (inspected === null) return { request, used: [], refusal: null };
  const { message, json } = inspected;
  const used = entries.filter((entry) => requestCarries(entry, json));
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
