import { invalidOptions } from "../../http/api-error.ts";
import { unknownMembers } from "../../text/nearest.ts";
import { checkTable } from "./check-table.ts";
import { type DeprecationEntry, type DeprecationWhere, parseRoute } from "./entry.ts";

/** A deprecation of a host's own API. `id`, `on`, `since`, `sunset` and `use` are enough. */
export interface OwnDeprecation {
  /** Stable name for links, errors and options, e.g. `"orders-v1"`. */
  readonly id: string;
  /**
   * The route: `"GET /v1/orders/{id}"`, below the API root. `{name}` stands for one segment, `/**` at the end for all paths
   * below, `*` in place of the method for any.
   */
  readonly on: string;
  /** Day of the announcement, `YYYY-MM-DD` in UTC. */
  readonly since: string;
  /** Day or instant (RFC 3339) of the end. @default null, no end is known */
  readonly sunset?: string | null;
  /** The replacement, `"GET /v2/orders/{id}"`, or several. @default none */
  readonly use?: string | readonly string[];
  /**
   * The effect of the end: `"gone"` answers 410 before the handler of the route (400 for a parameter or a field of a request,
   * and fields leave responses); `"announce"` only goes on to announce. @default "gone"
   */
  readonly after?: "gone" | "announce";
  /**
   * Ends these parameters or members of JSON instead of the route. A name is found at any depth, `"customer.fax"` is the
   * `fax` of any `customer`. @default [], the route itself
   */
  readonly fields?: readonly string[];
  /** The place of `fields`. @default "query" for GET, HEAD and DELETE, else "request" */
  readonly where?: OwnPlace;
  /** Live segments that the last parameter of the route does not stand for. @default [] */
  readonly except?: readonly string[];
  /** Advice in prose, for the message. @default null */
  readonly rule?: string | null;
}

/** The places of a deprecated field of an own API. */
export type OwnPlace = Extract<
  DeprecationWhere,
  "query" | "request" | "response" | "request and response"
>;

const MEMBERS = [
  "id",
  "on",
  "since",
  "sunset",
  "use",
  "after",
  "fields",
  "where",
  "except",
  "rule",
] as const satisfies readonly (keyof OwnDeprecation)[];
const PLACES: readonly OwnPlace[] = ["query", "request", "response", "request and response"];

/**
 * Makes an entry for a host's own table. Throws `ApiError` (`invalid_options`) that lists each mistake with the right form.
 *
 * @example
 * ```ts
 * import { defineDeprecation, deprecationsMiddleware } from "causey/deprecations";
 * import { Hono } from "hono";
 *
 * const orders = defineDeprecation({
 *   id: "orders-v1",
 *   on: "GET /v1/orders",
 *   since: "2026-01-01",
 *   sunset: "2026-07-01",
 *   use: "GET /v2/orders",
 * });
 * const app = new Hono();
 * app.use("*", deprecationsMiddleware({ entries: [orders], basePath: "" }));
 * ```
 */
export function defineDeprecation(own: OwnDeprecation): DeprecationEntry {
  const problems = faultsOf(own);
  const entry = problems.length === 0 ? entryOf(own) : null;
  if (entry !== null) problems.push(...checkTable([entry]));
  if (entry !== null && problems.length === 0) return entry;
  const message = problems.map((problem) => `Deprecation ${problem}`).join("; ");
  throw invalidOptions(message);
}

function entryOf(own: OwnDeprecation): DeprecationEntry {
  const { id, since, sunset = null, fields = [], except = [], rule = null } = own;
  const { method, path } = parseRoute(own.on);
  const { where = method === "GET" || method === "DELETE" ? "query" : "request" } = own;
  const replacement = usesOf(own).map(parseRoute);
  const isEndpoint = fields.length === 0;
  return {
    id,
    row: id,
    date: since,
    eol: sunset,
    enforceFrom: sunset,
    kind: isEndpoint ? "endpoint" : where === "query" ? "query" : "field",
    class: replacement.length === 0 && rule === null ? "D" : "C",
    lossless: "no",
    methods: [method],
    path,
    fields,
    where: isEndpoint ? null : where,
    replacement,
    rule,
    except,
    isServed: true,
    ...(own.after === "announce" ? {} : { pastCutOff: "refuse" }),
  };
}

/** Mistakes that types would show; JavaScript has none. */
function faultsOf(own: OwnDeprecation): string[] {
  const { id, since, after, fields, where } = own;
  const name = JSON.stringify(id ?? "");
  const routes = [["on", own.on], ...usesOf(own).map((use) => ["use", use])] as const;
  const faults = [
    ...unknownMembers(own, MEMBERS),
    id === undefined || id === "" ? 'needs an id, e.g. "orders-v1"' : null,
    since === undefined ? 'needs since, a day such as "2026-01-01"' : null,
    after === undefined || AFTER.includes(after)
      ? null
      : `after ${JSON.stringify(after)}: it is one of ${quoted(AFTER)}`,
    where === undefined || PLACES.includes(where)
      ? null
      : `where ${JSON.stringify(where)}: it is one of ${quoted(PLACES)}`,
    where !== undefined && fields === undefined ? "where needs fields" : null,
    ...(fields ?? []).map((field) =>
      typeof field === "string" && field.split(".").every((part) => part !== "")
        ? null
        : `fields ${JSON.stringify(field)}: write a name such as "fax" or "customer.fax"`,
    ),
    ...routes.map(([field, text]) =>
      typeof text === "string" && /^\S+ \S+$/.test(text)
        ? null
        : `${field} ${JSON.stringify(text ?? "")}: write METHOD and path, e.g. "GET /v1/orders"`,
    ),
  ];
  return faults.filter((fault) => fault !== null).map((fault) => `${name}: ${fault}`);
}

const AFTER = ["gone", "announce"] as const;

function quoted(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(", ");
}

function usesOf({ use = [] }: OwnDeprecation): readonly string[] {
  return typeof use === "string" ? [use] : use;
}
