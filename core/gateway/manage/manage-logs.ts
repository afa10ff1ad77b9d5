import { notArray } from "../../http/fields/schema-fields.ts";
import { boundedJson } from "../../http/json.ts";
import { isExact } from "../../http/json/json-source.ts";
import * as v from "valibot";
import { between } from "../../http/fields/bounded-number.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { SqlRow } from "../../ports.ts";
import { DELETE_LIMIT } from "../observe/log/gateway-log.ts";
import { parseLogQuery } from "../observe/log/log-filters.ts";
import { logDetail, logView } from "../observe/log/log-view.ts";
import { getGateway } from "./manage-gateways.ts";
import type { ListPage } from "./list-page.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { GatewayStore } from "../account/gateways/store.ts";

/** A client's later feedback on a logged request. */
export interface LogFeedback {
  readonly feedback?: number | null | undefined;
  readonly score?: number | null | undefined;
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | null | undefined;
}

/** Characters of a row's metadata, which every listing shows: as much as a header can bring. */
const METADATA_LIMIT = 16 * 1024;

const exactNumber = v.pipe(
  v.number(),
  v.check(isExact, "expected a number that is not rounded: write one of so many digits as text"),
);

/** Averages of scores stay finite. */
const MOST_SCORE = 1_000_000_000;

export const logPatch: v.GenericSchema<unknown, LogFeedback> = v.object({
  feedback: v.nullish(between(-MOST_SCORE, MOST_SCORE)),
  score: v.nullish(between(-MOST_SCORE, MOST_SCORE)),
  metadata: v.nullish(
    v.pipe(
      notArray,
      v.record(v.string(), v.union([v.string(), exactNumber, v.boolean()])),
      v.check(
        (metadata) => JSON.stringify(metadata).length <= METADATA_LIMIT,
        `expected at most ${METADATA_LIMIT} characters as JSON`,
      ),
    ),
  ),
});

/** Lists log rows by the filters of a raw query string. */
export async function listLogs(
  name: GatewayName,
  search: string,
  page: ListPage,
  store: GatewayStore,
): Promise<{ logs: Record<string, unknown>[]; total: number }> {
  await getGateway(name, store);
  const { rows, total } = await store
    .at(name)
    .listLogs(parseLogQuery(search), page.offset, page.perPage);
  return { logs: rows.map(logView), total };
}

/** Deletes the rows that the filters of a raw query string find, at most `limit`; resolves to their number. */
export async function deleteLogs(
  name: GatewayName,
  search: string,
  limit: string | undefined,
  store: GatewayStore,
): Promise<number> {
  await getGateway(name, store);
  if (limit !== undefined && !/^\d{1,9}$/.test(limit)) {
    throw invalidRequest(`limit: expected an integer, got "${limit.slice(0, 32)}"`);
  }
  const query = parseLogQuery(search);
  const wanted = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  let deleted = 0;
  // In parts, between which the gateway's other work goes on.
  for (;;) {
    const part = Math.min(DELETE_LIMIT, wanted - deleted);
    const gone = part === 0 ? 0 : await store.at(name).deleteLogs(query, part);
    deleted += gone;
    if (gone < part || part === 0) return deleted;
  }
}

/** Shows one row with the beginning of its bodies. */
export async function getLog(
  name: GatewayName,
  id: string,
  store: GatewayStore,
): Promise<Record<string, unknown>> {
  return logDetail(await rowOf(name, id, store));
}

/** Stores feedback, score and metadata; resolves to the row afterwards. */
export async function patchLog(
  name: GatewayName,
  id: string,
  { feedback, score, metadata }: LogFeedback,
  store: GatewayStore,
): Promise<Record<string, unknown>> {
  await rowOf(name, id, store);
  const text = metadata === undefined || metadata === null ? metadata : JSON.stringify(metadata);
  await store.at(name).patchLog(id, { feedback, score, metadata: text });
  return logDetail(await rowOf(name, id, store));
}

/** The raw body of one side of a logged request, as far as it is kept. */
export async function logBody(
  name: GatewayName,
  id: string,
  side: "request" | "response",
  store: GatewayStore,
): Promise<Response> {
  const row = await rowOf(name, id, store);
  const text = row[side];
  if (typeof text !== "string") {
    throw new ApiError("not_found", {
      message: `No ${side} body is kept for log "${id.slice(0, 64)}"`,
    });
  }
  const type = String(row[`${side}_content_type`] ?? "");
  // Logged text comes from third parties: never let a browser run it on this origin.
  // Clients parse what is called JSON: one that was cut off, or never was any, is text.
  const isJson =
    /^application\/(?:[\w.-]+\+)?json\b/i.test(type) && boundedJson(text) !== undefined;
  const safe = isJson ? "application/json" : "text/plain; charset=utf-8";
  return new Response(text, {
    headers: { "content-type": safe, "x-content-type-options": "nosniff" },
  });
}

async function rowOf(name: GatewayName, id: string, store: GatewayStore): Promise<SqlRow> {
  await getGateway(name, store);
  const row = await store.at(name).getLog(id);
  if (row === null)
    throw new ApiError("not_found", { message: `There is no log "${id.slice(0, 64)}"` });
  return row;
}
