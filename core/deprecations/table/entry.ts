import type { Json } from "../../http/json.ts";
import type { CallRewriting } from "../translate/endpoint-calls.ts";
import type { FanOutView } from "../translate/dns-filters.ts";
import type { RawParameter } from "../translate/raw-query.ts";

/** The subject of an entry: a whole endpoint, or something finer that headers alone cannot describe. */
export type DeprecationKind = "endpoint" | "field" | "query" | "protocol" | "notice" | "behaviour";

/**
 * The help for old callers: A the request can be rewritten, B only the response changes, C the replacement is named in
 * prose, D gone without replacement, E protocol, F a change notice.
 */
export type DeprecationClass = "A" | "B" | "C" | "D" | "E" | "F";

/** The place where the field, query form or header of an entry occurs. */
export type DeprecationWhere =
  | "query"
  | "request headers"
  | "request"
  | "request and response"
  | "response"
  | "error response";

/** A route that replaces a deprecated one. */
export interface Replacement {
  readonly method: string;
  readonly path: string;
}

/** A call of today's API, with its name in the official TypeScript client. */
export interface ModernCall extends Replacement {
  /** E.g. `rulesets.phases.get`, of `cloudflare` 7.3.0 (https://www.npmjs.com/package/cloudflare). */
  readonly client: string;
}

/** One deprecated thing. */
export interface DeprecationEntry {
  /** Stable, `row.NN`; used in links, errors and configuration. */
  readonly id: string;
  /** The row (one announcement) of the entry. */
  readonly row: string;
  /** Day of the deprecation (or change), `YYYY-MM-DD` in UTC; null when only an end of life was announced. */
  readonly date: string | null;
  /** End of life, where one was announced. */
  readonly eol: string | null;
  /** Day from whose start (00:00 UTC) on the old form is refused or gone; null = never. */
  readonly enforceFrom: string | null;
  readonly kind: DeprecationKind;
  readonly class: DeprecationClass;
  /** Whether the rewrite is exact in both directions. */
  readonly lossless: "yes" | "conditional" | "no" | null;
  /** Methods in upper case; `["*"]` = any. Empty without a route. */
  readonly methods: readonly string[];
  /** Template below the API root with `{name}` parameters; null without a route. */
  readonly path: string | null;
  /** The fields, query forms or headers concerned. */
  readonly fields: readonly string[];
  readonly where: DeprecationWhere | null;
  /** Empty unless the announcement names a path. */
  readonly replacement: readonly Replacement[];
  /** Present calls that do the same, if the announcement names none; used in messages. */
  readonly calls?: readonly ModernCall[];
  /** The announcement's prose. */
  readonly rule: string | null;
  /** Last segments that the template's last parameter does not stand for: live routes beside it. */
  readonly except: readonly string[];
  /**
   * The effect of the mode `translate` past the cut-off: `drop` leaves the parameters out of the query; `refuse` refuses the
   * endpoint before its handler, its parameters and the fields of a body, and leaves the fields out of responses.
   * @default a rewrite by the kind of the entry; without one, both forms go on
   */
  readonly pastCutOff?: "drop" | "refuse";
  /**
   * The host of the table surely serves the route, and fields may lie anywhere in its JSON. Set by `defineDeprecation()`.
   * @default false
   */
  readonly isServed?: boolean;
  /** Recognises the JSON records that carry the entry. @default those that have one of its fields */
  readonly isCarriedBy?: (record: Json) => boolean;
  /** A piece of text that every response with the entry has. @default the quoted last part of one of its fields */
  readonly sign?: string;
  /** Whether the fields leave responses past the cut-off, because the old form ends there. @default `pastCutOff` is "refuse" */
  readonly leavesResponses?: boolean;
  /**
   * The ids of the entries that the parameters of a query use; entries of a route that share the function are asked in one call.
   * @default those with a parameter of it in `fields`
   */
  readonly usedIds?: (parameters: readonly RawParameter[]) => readonly string[];
  /** Rewrites a query past the cut-off; entries of a route that share the function are planned in one call. */
  readonly planQuery?: QueryPlanner;
  /** Rewrites the JSON body of a request past the cut-off. */
  readonly modernRequest?: (body: Json) => Json;
  /** Rewrites one of the errors of a failure past the cut-off; several may take its place. */
  readonly modernErrors?: (error: Json) => readonly Json[];
  /** Gives a record of a response its old fields back, for a client that is pinned to a day before the cut-off. */
  readonly oldRecord?: (record: Json, around: Around) => Json;
  /** A route whose `result` `oldRecord` needs; its parameters are those of `path`. @default none */
  readonly lookUp?: string;
  /** Gives the JSON body of a failure (400) its old form back, for such a client. */
  readonly oldFailure?: (body: Json) => Json;
  /** Rewrites the calls of an endpoint past the cut-off, where the host has today's route and can be asked. */
  readonly rewriting?: CallRewriting;
  /** Whether the path has another meaning in today's API: a host that serves it is asked first. @default false */
  readonly isReused?: boolean;
  /** Whether the last segment of the path may be in any case. @default false */
  readonly isAnyCase?: boolean;
  /** A live route whose request body may name the entry; such a request is refused. */
  readonly namedIn?: NamedIn;
}

/** The surroundings of the records of a response. */
export interface Around {
  /** The parameters of the request's path. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The `result` of the entry's `lookUp`; empty where that cannot be asked. */
  readonly found: Json;
}

/** The second place of an entry: the body of a route that lives. */
export interface NamedIn {
  /** `"METHOD /path"`. */
  readonly on: string;
  /** Recognises the JSON records that name the entry. */
  readonly isCarriedBy: (record: Json) => boolean;
  /** The name of what is refused, e.g. `The setting "minify"`. */
  readonly subject: string;
  /** Advice for the caller. */
  readonly instead: string;
}

/** Plans the rewrite of a query; `isEnforced` takes the id of an entry. */
export type QueryPlanner = (
  parameters: readonly RawParameter[],
  isEnforced: (id: string) => boolean,
) => QueryPlan;

/** The rewrite of a query: unchanged, another query, several, or nothing that has the same meaning. */
export type QueryPlan =
  | { readonly kind: "unchanged" }
  | { readonly kind: "rewrite"; readonly query: string }
  /** The merged answers to these queries have the meaning; `instead` is the advice where a host cannot be asked so. */
  | {
      readonly kind: "fan-out";
      readonly id: string;
      readonly queries: readonly string[];
      readonly view: FanOutView;
      readonly instead: string;
    }
  | { readonly kind: "refuse"; readonly id: string; readonly instead: string };

/** Facts that may differ between the routes of one row, beside the route itself. */
type RowFacts = Omit<
  DeprecationEntry,
  "id" | "row" | "methods" | "path" | "replacement" | "calls" | "except"
>;

/** A route of a row: `"METHOD /path"`, or null when the announcement shows none. */
export interface RowRoute extends Partial<RowFacts> {
  readonly on: string | null;
  /** Replacements as `"METHOD /path"`. @default [] */
  readonly to?: readonly string[];
  /** Calls of today as `"METHOD /path client.name"`. @default none */
  readonly now?: readonly string[];
  readonly except?: readonly string[];
}

/** One row of the table, which is one announcement: facts that its routes share, then the routes. */
export interface Row extends Omit<
  RowFacts,
  "eol" | "enforceFrom" | "kind" | "fields" | "where" | "rule"
> {
  readonly row: string;
  /** @default null */
  readonly eol?: string | null;
  /** @default `eol`, else `date` */
  readonly enforceFrom?: string | null;
  /** @default "endpoint" */
  readonly kind?: DeprecationKind;
  /** @default [] */
  readonly fields?: readonly string[];
  /** @default null */
  readonly where?: DeprecationWhere | null;
  /** @default null */
  readonly rule?: string | null;
  readonly routes: readonly RowRoute[];
}

/** The entries of a row, numbered in order: `row.01`, `row.02`, … */
export function expandRow(row: Row): DeprecationEntry[] {
  const { row: name, routes, ...given } = row;
  const { date, eol = null, enforceFrom = eol ?? date } = row;
  const usual = {
    eol,
    enforceFrom,
    kind: "endpoint",
    fields: [],
    where: null,
    rule: null,
  } as const;
  return routes.map(({ on, to = [], now, except = [], ...own }, index) => ({
    ...usual,
    ...given,
    ...own,
    id: `${name}.${String(index + 1).padStart(2, "0")}`,
    row: name,
    methods: on === null ? [] : [parseRoute(on).method],
    path: on === null ? null : parseRoute(on).path,
    replacement: to.map(parseRoute),
    ...(now === undefined ? {} : { calls: now.map(parseCall) }),
    except,
  }));
}

function parseCall(call: string): ModernCall {
  return { ...parseRoute(call), client: call.split(" ")[2] ?? "" };
}

/** Splits `"METHOD /path"`. */
export function parseRoute(route: string): Replacement {
  const [method = "", path = ""] = route.split(" ");
  return { method, path };
}
