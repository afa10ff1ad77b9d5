import type { ApiError } from "../http/api-error.ts";
import type { ArrivingRoom } from "../http/arriving-body.ts";
import { copyOf } from "../net/client-address.ts";
import { BULK_SETTINGS, requestCarries, settingIds } from "./fields.ts";
import { inspectRequest, requestWithJson } from "./json-body.ts";
import { rawQuery, withQuery } from "./pathname.ts";
import { isEnforced, type ScheduledEntry } from "./phase.ts";
import { refusedParameter } from "./refuse.ts";
import type { Deprecations } from "./options.ts";
import type { SignalPlace } from "./signal.ts";
import { domainsToDestinations } from "./translate/access-destinations.ts";
import {
  FILTER_VALUES_LIMIT,
  type FilterEntry,
  type FilterPlan,
  planFilters,
  usedFilters,
} from "./translate/dns-filters.ts";
import { parseRawQuery } from "./translate/raw-query.ts";

/** The effect on a request of the entries finer than an endpoint. */
export interface Revision {
  /** The request to pass on, rewritten where that is exact. */
  readonly request: Request;
  /** The entries that the request really uses. */
  readonly used: readonly ScheduledEntry[];
  /** Set when the request must not be passed on. */
  readonly refusal: ApiError | null;
}

type RevisionParts = Pick<Deprecations, "place" | "goneSettings"> & {
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
  return { ...inBody, used: [...inQuery.used, ...inBody.used] };
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
  const refused = enforced.find((entry) => entry.mode !== "translate");
  if (refused !== undefined) return refuse(refused, refused.rule ?? "leave it out");

  const dropped = new Set(
    enforced.filter((entry) => entry.pastCutOff === "drop").flatMap((e) => e.fields),
  );
  const kept = parseRawQuery(query).filter(({ name }) => !dropped.has(name));
  const rest = kept.map(({ raw }) => raw).join("&");
  const plan = planOf(rest, entries, now);
  if (plan?.kind === "refuse" || plan?.kind === "fan-out") {
    const entry = filterEntry(entries, plan.kind === "refuse" ? plan.entry : "04") ?? used[0];
    if (entry !== undefined)
      return refuse(entry, plan.kind === "refuse" ? plan.instead : ALTERNATIVES);
  }
  const revised = plan?.kind === "rewrite" ? plan.query : rest;
  return {
    request:
      revised === query
        ? request
        : copyOf(request, new Request(withQuery(request.url, revised), request)),
    used,
    refusal: null,
  };
}

function usedInQuery(query: string, entries: readonly ScheduledEntry[]): ScheduledEntry[] {
  const names = new Set(parseRawQuery(query).map(({ name }) => name));
  const filters = new Set<string>(usedFilters(query).map((number) => `dns-list-filters.${number}`));
  return entries.filter(
    (entry) =>
      entry.kind === "query" &&
      (filters.has(entry.id) || entry.fields.some((field) => names.has(field))),
  );
}

/** The plan for the filters of a list of DNS records; null on other routes. */
function planOf(query: string, entries: readonly ScheduledEntry[], now: number): FilterPlan | null {
  if (filterEntry(entries, "01") === undefined) return null;
  return planFilters(query, (number) => {
    const entry = filterEntry(entries, number);
    return entry !== undefined && isEnforced(entry, now);
  });
}

function filterEntry(
  entries: readonly ScheduledEntry[],
  number: FilterEntry,
): ScheduledEntry | undefined {
  return entries.find(({ id }) => id === `dns-list-filters.${number}`);
}

/** A list beside other filters has no single modern request; a client that needs the union asks once per value. */
const ALTERNATIVES = `one request per value, or ?match=any&name=<a>&name=<b> as the only filter, with at most ${FILTER_VALUES_LIMIT} values`;

async function reviseBody(
  request: Request,
  entries: readonly ScheduledEntry[],
  now: number,
  { place, goneSettings, room }: RevisionParts,
): Promise<Revision> {
  const candidates = entries.filter((entry) => entry.where === "request and response");
  const inspected = candidates.length === 0 ? null : await inspectRequest(request, room);
  if (inspected === null) return { request, used: [], refusal: null };
  const { message, json } = inspected;
  const isBulk = candidates.some(({ path }) => path === BULK_SETTINGS);
  for (const id of isBulk ? settingIds(json) : []) {
    const gone = goneSettings.get(id);
    if (gone === undefined || !isEnforced(gone, now)) continue;
    const instead = `leave it out, nothing was changed (${gone.rule ?? "no replacement"})`;
    const refusal = refusedParameter(gone, place, `The setting "${id}"`, instead);
    return { request: message, used: [gone], refusal };
  }
  const used = candidates.filter((entry) => requestCarries(entry, json));
  const enforced = used.filter((entry) => isEnforced(entry, now));
  const refused = enforced.find(
    (entry) => entry.mode !== "translate" || entry.pastCutOff === "refuse",
  );
  if (refused !== undefined) {
    const instead = refused.rule ?? "leave it out";
    const refusal = refusedParameter(refused, place, refused.fields.join(", "), instead);
    return { request: message, used, refusal };
  }
  const domains = enforced.some((entry) => entry.fields.includes("self_hosted_domains"));
  const body = json as Readonly<Record<string, unknown>>;
  return {
    request: domains ? requestWithJson(inspected, domainsToDestinations(body)) : message,
    used,
    refusal: null,
  };
}
