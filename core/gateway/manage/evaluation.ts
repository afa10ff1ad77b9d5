import * as v from "valibot";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { plainText } from "../../http/plain-text.ts";
import { recordView, type StoredRecord } from "../account/records/record.ts";
import type { Value } from "../../http/json.ts";
import {
  guards,
  listAnswer,
  MANAGEMENT_ROOT,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";
import { datasetQuery } from "./dataset.ts";
import { type RecordResource, recordResource, type RecordScope } from "./record-resource.ts";

const ids = v.pipe(
  v.array(v.pipe(v.string(), v.maxLength(64))),
  v.minLength(1, "expected at least one id"),
  v.maxLength(10, "at most 10 ids are allowed"),
);

const create = v.object({
  name: plainText(128),
  dataset_ids: ids,
  evaluation_type_ids: ids,
});

/** The kinds of evaluation, which are figures of the log, with the time that all have in common (docs/compatibility.md). */
const types = (
  [
    [
      "cost",
      "Cost",
      "Average cost of a request in US dollars, over the requests whose cost is known",
    ],
    [
      "feedback",
      "Human feedback",
      "Share of positive feedback in percent, over the requests that were rated",
    ],
    [
      "speed",
      "Speed",
      "Average duration of a request in milliseconds, over successful requests that no cache answered",
    ],
  ] as const
).map(([id, name, description]) => ({
  id,
  name,
  type: id,
  description,
  enable: true,
  mandatory: false,
  created_at: "2026-01-01T00:00:00.000Z",
  modified_at: "2026-01-01T00:00:00.000Z",
}));

export const evaluations: RecordResource = recordResource({
  path: "/gateways/:gateway_id/evaluations",
  collection: "evaluation",
  listing: { searchIn: ["name", "filters"], flags: ["processed"], texts: ["name"] },
  create,
  draft: evaluated,
});

/** Evaluates datasets as the log is now; the answer is kept. Throws `invalid_request` for an unknown id. */
async function evaluated(
  body: v.InferOutput<typeof create>,
  { account, gateway, records, system, deps }: RecordScope,
): Promise<Pick<StoredRecord, "id" | "body">> {
  const wanted = body.evaluation_type_ids.map((given) => {
    const type = types.find(({ id }) => id === given);
    if (type === undefined) throw unknownId("evaluation_type_ids", given);
    return type.id;
  });
  const datasets = await Promise.all(
    body.dataset_ids.map((id) =>
      records.get({ collection: "dataset", id }).catch((error: unknown) => {
        const isGone = error instanceof ApiError && error.kind === "not_found";
        throw isGone ? unknownId("dataset_ids", id) : error;
      }),
    ),
  );
  const queries = datasets.map(datasetQuery);
  const { total, figures } = await deps.store.at({ account, gateway }).summariseLogs(queries);
  const id = system.id();
  const at = new Date(system.now()).toISOString();
  const owner = { account_id: account, account_tag: account };
  // `status` 1 = there is a figure, 0 = no row of the datasets has one.
  const results = wanted.map((type): Value => {
    const { average, rows } = figures[type];
    return {
      id: system.id(),
      evaluation_id: id,
      evaluation_type_id: type,
      result: average === null ? "" : String(Number(average.toPrecision(6))),
      status: average === null ? 0 : 1,
      status_description:
        average === null ? "No log row of the datasets has a figure for this" : "Completed",
      total_logs: rows,
      created_at: at,
      modified_at: at,
    };
  });
  return {
    id,
    body: {
      name: body.name,
      processed: true,
      total_logs: total,
      datasets: datasets.map((one): Value => ({ ...recordView(gateway, one), ...owner })),
      results,
    },
  };
}

function unknownId(field: string, id: string): ApiError {
  return invalidRequest(`${field}: there is no "${id}" here`);
}

/** The route that lists the kinds of evaluation: `…/evaluation-types`. */
export const evaluationTypeRoutes: ManagementRoutes = (app, { auth }) => {
  app.get(`${MANAGEMENT_ROOT}/evaluation-types`, guards(auth).read, (c) => {
    const page = pageOfQuery(c, ["order_by", "order_by_direction"]);
    const direction = c.req.query("order_by_direction") ?? "asc";
    if (direction !== "asc" && direction !== "desc") {
      throw invalidRequest(
        `order_by_direction: expected "asc" or "desc", got "${direction.slice(0, 32)}"`,
      );
    }
    const all = typesInOrder(c.req.query("order_by") || "id");
    const ordered = direction === "desc" ? all.toReversed() : all;
    return listAnswer(ordered.slice(page.offset, page.offset + page.perPage), page, all.length);
  });
};

/** The kinds of evaluation in an order. Throws `invalid_request` for a member that they do not have. */
function typesInOrder(orderBy: string): Record<string, unknown>[] {
  if (!types.every((type) => Object.hasOwn(type, orderBy))) {
    throw invalidRequest(`order_by: evaluation types have no "${orderBy.slice(0, 64)}"`);
  }
  const text = (type: Record<string, unknown>): string =>
    `${String(type[orderBy])} ${String(type["id"])}`;
  return types.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
}
