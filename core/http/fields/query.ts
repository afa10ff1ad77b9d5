import type { Context } from "hono";
import * as v from "valibot";
import { invalidRequest } from "../api-error.ts";
import { didYouMean } from "../../text/nearest.ts";
import { parse } from "./body.ts";
import { checkFields, noteUnknownFields } from "./unknown-fields.ts";

/** Checks the query of a request against a schema, with the same care for misspelt names as `readJson`. */
export function readQuery<S extends v.GenericSchema>(c: Context, schema: S): v.InferOutput<S> {
  const query = c.req.query();
  note(c, schema, query);
  return parse(schema, query, "invalid_request", "parameter");
}

/** Refuses a query with a misspelling of one of the names that a route reads; other unknown names are only noted. */
export function checkQuery(c: Context, names: readonly string[]): void {
  const query = c.req.query();
  // Most lists are asked for without any, and making the schema would take an eighth of their time.
  if (Object.keys(query).length > 0) note(c, namesSchema(names), query);
}

/** Refuses a query with any other name: for routes that would do or show more without the parameter that was meant. */
export function checkWholeQuery(c: Context, names: readonly string[]): void {
  const known = new Set(names);
  const unknown = Object.entries(c.req.query()).find(([name]) => !known.has(name));
  if (unknown === undefined) return;
  const [name, value] = unknown.map((text) => text.slice(0, SHOWN)) as [string, string];
  const taken = names.length === 0 ? "this route takes none" : `it takes ${names.join(", ")}`;
  const help = didYouMean(name, names) || `: ${taken}`;
  const message = `Unknown parameter "${name}" with the value "${value}"${help}`;
  throw invalidRequest(message);
}

/** Characters of a stranger's text that are repeated. */
const SHOWN = 64;

function namesSchema(names: readonly string[]): v.GenericSchema {
  return v.object(Object.fromEntries(names.map((name) => [name, v.unknown()])));
}

function note(c: Context, schema: v.GenericSchema, query: Record<string, string>): void {
  noteUnknownFields(c, checkFields(schema, query, "invalid_request", "parameter"));
}
