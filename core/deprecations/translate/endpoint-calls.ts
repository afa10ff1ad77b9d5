import { isObject, type Json, jsonObject } from "../../http/json.ts";
import { fromFlattenAllCnames, toFlattenAllCnames } from "./cname-flattening.ts";
import { fillPath } from "./pathname.ts";
import { parseRawQuery } from "./raw-query.ts";

/** A call of an endpoint that has ended. */
export interface OldCall {
  readonly method: string;
  /** The raw pathname below the API root, and the template of the entry that it fits. */
  readonly path: string;
  readonly template: string;
  /** The raw query. */
  readonly query: string;
  /** The JSON of the body; undefined if the body is not JSON, or if the rewriting does not read it. */
  readonly json: unknown;
}

/** The present call with the meaning of an old call. */
export interface NewCall {
  /** The raw pathname below the API root. */
  readonly path: string;
  /** The raw query. @default that of the old call */
  readonly query?: string;
  /** The JSON of the body; null for none. @default the body of the old call as it comes */
  readonly json?: unknown;
  /** The fields of the body, as `multipart/form-data`. */
  readonly form?: Readonly<Record<string, string>>;
}

/** The rewriting of the calls of an endpoint, and of the answers to them. */
export interface CallRewriting {
  /** Whether `toModern` needs the JSON of the body. @default false */
  readonly readsBody?: boolean;
  /** Null for a call without an exact present form. */
  readonly toModern: (call: OldCall) => NewCall | null;
  /** The JSON of a success in its old form. @default as it is */
  readonly toOld?: (body: Json, call: OldCall) => Json;
}

/** The same call at another path, whose parameters have the names of the old one. */
export function atPath(replacement: string): CallRewriting {
  return {
    toModern: ({ path, template }) => {
      const moved = fillPath(replacement, template, path);
      return moved === null ? null : { path: moved };
    },
  };
}

/** Bytes of a query that servers surely take. */
const QUERY_LIMIT = 6000;

/** A list of ids in the body becomes repeated `id` parameters, without a body. */
export function idsToQuery(replacement: string): CallRewriting {
  return {
    readsBody: true,
    toModern: ({ path, template, query, json }) => {
      const moved = fillPath(replacement, template, path);
      if (moved === null || !Array.isArray(json)) return null;
      const ids = json.filter((id) => typeof id === "string");
      const parts = [
        ...(query === "" ? [] : [query]),
        ...ids.map((id) => `id=${encodeURIComponent(id)}`),
      ];
      const all = parts.join("&");
      return ids.length < json.length || all.length > QUERY_LIMIT
        ? null
        : { path: moved, query: all, json: null };
    },
  };
}

/** The fields of an upload as JSON, which the first version took, become a form; a form passes as it comes. */
export const imageUpload: CallRewriting = {
  readsBody: true,
  toModern: ({ path, template, json }) => {
    const moved = fillPath("/accounts/{account_id}/images/v2/direct_upload", template, path);
    if (moved === null) return null;
    if (json === undefined) return { path: moved };
    if (!isObject(json)) return null;
    const fields = Object.entries(json).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    return { path: moved, form: Object.fromEntries(fields) };
  },
};

/** The two forms of a setting's value. */
interface SettingForms {
  readonly id: string;
  readonly field: string;
  /** Undefined for a value that there never was. */
  readonly toField: (value: unknown) => unknown;
  /** `asked` is the value that the request sets. */
  readonly toValue: (field: unknown, asked: unknown) => unknown;
}

/**
 * A setting `{id, value}` that is a field of the zone's DNS settings today
 * (https://developers.cloudflare.com/api/resources/dns/subresources/settings/subresources/zone/).
 */
function settingOf({ id, field, toField, toValue }: SettingForms): CallRewriting {
  return {
    readsBody: true,
    toModern: ({ method, path, template, json }) => {
      const moved = fillPath("/zones/{zone_id}/dns_settings", template, path);
      if (moved === null || method === "GET" || method === "HEAD")
        return moved === null ? null : { path: moved };
      const value = toField(jsonObject(json)["value"]);
      return value === undefined ? null : { path: moved, json: { [field]: value } };
    },
    toOld: (body, { json }) => {
      const value = toValue(jsonObject(body["result"])[field], jsonObject(json)["value"]);
      return { ...body, result: { id, value, editable: true, modified_on: null } };
    },
  };
}

/** A setting that was true or false, as `{"id": "use_apex_ns", "value": true}` was. */
export function switchOf(id: string, field: string): CallRewriting {
  const asIs = (value: unknown): unknown => (typeof value === "boolean" ? value : undefined);
  return settingOf({ id, field, toField: asIs, toValue: (value) => value ?? null });
}

/** `cname_flattening`; who asks in the words of the official client gets its words back. */
export const cnameFlattening: CallRewriting = settingOf({
  id: "cname_flattening",
  field: "flatten_all_cnames",
  toField: (value) => toFlattenAllCnames(value) ?? undefined,
  toValue: (all, asked) =>
    typeof all === "boolean"
      ? fromFlattenAllCnames(all, String(asked).startsWith("flatten_") ? "sdk" : "announced")
      : null,
});

/** Today's fewest groups. */
const FEWEST = 2;
/** The group of all that is beyond the limit. */
const OTHER = "other";

/**
 * The top of a dimension, from its summary: each series becomes a list with the largest first. `limit` is called
 * `limitPerGroup` today (https://developers.cloudflare.com/api/resources/radar/).
 */
export function topOf(summary: string, label: string): CallRewriting {
  return {
    toModern: ({ path, template, query }) => {
      const moved = fillPath(summary, template, path);
      const parameters = parseRawQuery(query);
      const isCsv = parameters.some(({ name, value }) => name === "format" && /^csv$/i.test(value));
      if (moved === null || isCsv) return null;
      const renamed = parameters.map(({ name, value, raw }) =>
        name === "limit" ? `limitPerGroup=${Math.max(FEWEST, wholeOf(value) ?? FEWEST)}` : raw,
      );
      return { path: moved, query: renamed.join("&") };
    },
    toOld: (body, { query }) => {
      const asked = parseRawQuery(query).findLast(({ name }) => name === "limit");
      const limit = asked === undefined ? null : wholeOf(asked.value);
      const series = Object.entries(jsonObject(body["result"])).map(([name, one]) => [
        name.replace(/^summary_(?=\d+$)/, "top_"),
        name === "meta" || !isObject(one) ? one : topList(one, label, limit ?? Infinity),
      ]);
      return { ...body, result: Object.fromEntries(series) };
    },
  };
}

function topList(series: Json, label: string, limit: number): Json[] {
  return Object.entries(series)
    .filter(([name]) => name !== OTHER)
    .toSorted(([, a], [, b]) => Number(b) - Number(a))
    .slice(0, limit)
    .map(([name, value]) => ({ [label]: name, value }));
}

function wholeOf(text: string): number | null {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : null;
}
