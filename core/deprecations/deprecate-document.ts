import { isObject, type Json, jsonObject, jsonObjects } from "../http/json.ts";
import { matcher } from "./table/matcher.ts";
import type { DeprecationsOptions } from "./options.ts";
import { type EntrySettings, type PerEntry, schedule, type ScheduledEntry } from "./phase.ts";
import { replacementText } from "./refuse.ts";
import { deprecationTable } from "./table/table.ts";
import { markFields, dereferenced } from "./translate/mark-fields.ts";

/** Options of {@link deprecateDocument}: those of the middleware that say what ends, and when. */
export interface DocumentOptions extends Pick<
  DeprecationsOptions,
  "entries" | "basePath" | "mode"
> {
  /** Settings by entry id or row; an id's win. @default {} */
  readonly settings?: PerEntry<EntrySettings>;
}

/** The methods of a path item (OpenAPI 3.1, https://spec.openapis.org/oas/v3.1.1.html#path-item-object). */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;

/**
 * Returns an OpenAPI 3 document in which everything that ends is marked, by the middleware's options. Operations, query
 * parameters and properties of JSON get `deprecated`, `x-sunset` (the day of the end, `YYYY-MM-DD`, which oasdiff reads:
 * https://github.com/oasdiff/oasdiff/blob/main/docs/DEPRECATION.md) and `x-deprecation` (id, day of the announcement,
 * replacements); operations that answer 410 at the end say so. All else stays, and the document that was passed in, too.
 *
 * @example
 * ```ts
 * import { defineDeprecation, deprecateDocument } from "causey/deprecations";
 *
 * const orders = defineDeprecation({
 *   id: "orders-v1",
 *   on: "GET /v1/orders/{id}",
 *   since: "2026-01-01",
 *   sunset: "2026-07-01",
 *   use: "GET /v2/orders/{id}",
 * });
 * const document = { openapi: "3.1.0", paths: { "/v1/orders/{orderId}": { get: { responses: {} } } } };
 * const told = deprecateDocument(document, { entries: [orders], basePath: "" });
 * told.paths["/v1/orders/{orderId}"].get["x-sunset"]; // → "2026-07-01"
 * ```
 */
export function deprecateDocument<Document extends object>(
  document: Document,
  options: DocumentOptions = {},
): Marked<Document> {
  const { entries = deprecationTable, basePath = "/client/v4" } = options;
  const active = schedule(entries, options).filter(({ mode }) => mode !== "off");
  const match = matcher(active);
  const whole = jsonObject(document);
  const marked = Object.entries(jsonObject(whole["paths"])).map(([path, item]) => {
    if (!isObject(item) || !path.startsWith(basePath)) return [path, item] as const;
    const operations = METHODS.flatMap((method) => {
      const operation = item[method];
      const found = match(method.toUpperCase(), path, basePath.length, path.length);
      if (!isObject(operation) || found.length === 0) return [];
      const given = withParametersOf(item, operation);
      return [[method, found.reduce((one, entry) => mark(one, entry, whole), given)] as const];
    });
    return [path, operations.length === 0 ? item : { ...item, ...Object.fromEntries(operations) }];
  });
  // `as`: members are added only.
  return { ...document, paths: Object.fromEntries(marked) } as Marked<Document>;
}

/** A document whose operations may have more members than before. */
export type Marked<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]: Marked<T[K]> } & { readonly [member: `x-${string}`]: unknown }
    : T;

/** The answer of an operation that has ended. */
export function goneResponse(entry: ScheduledEntry, content: unknown): Json {
  const use = replacementText(entry);
  const day = dayOf(entry) ?? "its end";
  const instead = use === null ? "Nothing replaces it." : `Use ${use}.`;
  const text = { schema: { type: "string" } };
  return {
    description: `Gone since ${day}. ${instead}`,
    headers: { Deprecation: text, Sunset: text, Link: text },
    ...(content !== undefined && { content }),
  };
}

/** The day of the end, as oasdiff reads it; undefined without one. */
function dayOf({ enforceAt }: ScheduledEntry): string | undefined {
  return enforceAt === null ? undefined : new Date(enforceAt).toISOString().slice(0, 10);
}

/** The extensions of whatever ends. An earlier end than that of `given` wins. */
function facts(given: Json, entry: ScheduledEntry): Json {
  const { id, date, eol, replacement } = entry;
  const ends = [given["x-sunset"], dayOf(entry)].filter((day) => typeof day === "string");
  const [first] = ends.toSorted();
  return {
    deprecated: true,
    ...(first !== undefined && { "x-sunset": first }),
    "x-deprecation": [
      ...jsonObjects(given["x-deprecation"]),
      { id, date: date ?? eol, replacement },
    ],
  };
}

function mark(operation: Json, entry: ScheduledEntry, document: Json): Json {
  if (entry.kind === "endpoint")
    return { ...operation, ...facts(operation, entry), ...ended(operation, entry, document) };
  if (entry.where === "query") return { ...operation, ...withQuery(operation, entry, document) };
  const change = (schema: unknown): unknown =>
    markFields(schema, entry.fields, {
      document,
      mark: (one) => ({ ...one, ...facts(one, entry) }),
    });
  const body =
    entry.where === "response"
      ? {}
      : { requestBody: withContent(operation["requestBody"], document, change) };
  const answers =
    entry.where === "request"
      ? {}
      : { responses: withAnswers(operation["responses"], document, change) };
  const kept = Object.entries({ ...body, ...answers }).filter(([, one]) => one !== undefined);
  return { ...operation, ...Object.fromEntries(kept) };
}

/** The 410 of an operation that ends although its handler is there; a host's own description of it stays. */
function ended(operation: Json, entry: ScheduledEntry, document: Json): Json {
  const responses = jsonObject(operation["responses"]);
  const isEnding = entry.pastCutOff === "refuse" && entry.enforceAt !== null;
  if (!isEnding || Object.hasOwn(responses, "410")) return {};
  const { content } = jsonObject(dereferenced(responses["4XX"] ?? responses["default"], document));
  return { responses: { ...responses, "410": goneResponse(entry, content) } };
}

/** The operation with the parameters of its path, which can differ between operations then. */
function withParametersOf(item: Json, operation: Json): Json {
  const shared = jsonObjects(item["parameters"]);
  if (shared.length === 0) return operation;
  const own = jsonObjects(operation["parameters"]);
  const key = ({ name, in: place, $ref }: Json): string => JSON.stringify([name, place, $ref]);
  const known = new Set(own.map(key));
  return { ...operation, parameters: [...shared.filter((one) => !known.has(key(one))), ...own] };
}

function withQuery(operation: Json, entry: ScheduledEntry, document: Json): Json {
  if (!Array.isArray(operation["parameters"])) return {};
  const parameters = operation["parameters"].map((one: unknown) => {
    const parameter = jsonObject(dereferenced(one, document));
    const { name, in: place } = parameter;
    const isEnding = place === "query" && typeof name === "string" && entry.fields.includes(name);
    return isEnding ? { ...parameter, ...facts(parameter, entry) } : one;
  });
  return { parameters };
}

type Change = (schema: unknown) => unknown;

/** A body or an answer whose schemas are changed; the very same if none is. */
function withContent(given: unknown, document: Json, change: Change): unknown {
  const described = dereferenced(given, document);
  if (!isObject(described) || !isObject(described["content"])) return given;
  let isChanged = false;
  const content = Object.entries(described["content"]).map(([type, media]) => {
    const { schema } = jsonObject(media);
    const changed = schema === undefined ? schema : change(schema);
    isChanged ||= changed !== schema;
    return [type, changed === schema ? media : { ...jsonObject(media), schema: changed }] as const;
  });
  return isChanged ? { ...described, content: Object.fromEntries(content) } : given;
}

/** Fields leave answers of success. */
function withAnswers(responses: unknown, document: Json, change: Change): unknown {
  if (!isObject(responses)) return responses;
  const changed = Object.entries(responses).map(([status, answer]) => [
    status,
    status.startsWith("2") ? withContent(answer, document, change) : answer,
  ]);
  return Object.fromEntries(changed);
}
