import * as v from "valibot";
import { plainText } from "../../http/plain-text.ts";
import { type LogQuery, parseLogQuery } from "../observe/log/log-filters.ts";
import type { StoredRecord } from "../account/records/record.ts";
import { type RecordResource, recordResource } from "./record-resource.ts";

const keys = [
  "created_at",
  "request_content_type",
  "response_content_type",
  "success",
  "cached",
  "provider",
  "model",
  "cost",
  "tokens",
  "tokens_in",
  "tokens_out",
  "duration",
  "feedback",
] as const;

/** A condition on the rows of the log. */
const filter = v.object({
  key: v.picklist(keys),
  operator: v.picklist(["eq", "contains", "lt", "gt"]),
  value: v.pipe(
    v.array(
      v.union([v.pipe(v.string(), v.minLength(1), v.maxLength(512)), v.number(), v.boolean()]),
    ),
    v.maxLength(20),
  ),
});

const filters = v.pipe(v.array(filter), v.maxLength(16, "at most 16 filters are allowed"));

const write = v.object({ name: plainText(128), enable: v.boolean(), filters });

/** The body that a dataset is kept with. Throws for a filter that no row could be compared with. */
function content(body: v.InferOutput<typeof write>): { key: string; body: typeof body } {
  logQuery(body.filters);
  return { key: body.name, body };
}

/** Datasets of a gateway: named filters of its log. */
export const datasets: RecordResource = recordResource({
  path: "/gateways/:gateway_id/datasets",
  collection: "dataset",
  listing: { searchIn: ["name", "filters"], flags: ["enable"], texts: ["name"] },
  create: write,
  draft: content,
  change: { methods: ["PUT"], schema: write, apply: (_, body) => content(body) },
});

export function datasetQuery({ body }: StoredRecord): LogQuery {
  return logQuery(v.parse(filters, body["filters"]));
}

/** Throws `invalid_request` for a value that does not fit its key. */
function logQuery(conditions: v.InferOutput<typeof filters>): LogQuery {
  const query = new URLSearchParams();
  for (const { key, operator, value } of conditions) {
    query.append("filters.key", key);
    query.append("filters.operator", operator);
    for (const one of value) query.append("filters.value", String(one));
  }
  return parseLogQuery(`?${query}`);
}
