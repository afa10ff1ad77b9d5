import * as v from "valibot";
import { ApiError } from "../../http/api-error.ts";
import { plainText } from "../../http/plain-text.ts";
import type { System } from "../../ports.ts";
import type { LogSummary } from "../observe/log/log-summary.ts";
import type { LogQuery } from "../observe/log/log-filters.ts";
import { type DatasetFilter, logQueryOf } from "./dataset.ts";
import { newRecord, recordView, type StoredRecord } from "../records/record.ts";
import type { Value } from "../wire/json-access.ts";
import type { Records } from "../records/records.ts";

/** The body that creates an evaluation. */
export interface EvaluationCreate {
  readonly name: string;
  readonly dataset_ids: readonly string[];
  readonly evaluation_type_ids: readonly string[];
}

const ids = v.pipe(
  v.array(v.pipe(v.string(), v.maxLength(64))),
  v.minLength(1, "expected at least one id"),
  v.maxLength(10, "at most 10 ids are allowed"),
);

/** Checks an {@link EvaluationCreate}. */
export const evaluationCreate: v.GenericSchema<unknown, EvaluationCreate> = v.object({
  name: plainText(128),
  dataset_ids: ids,
  evaluation_type_ids: ids,
});

/** A kind of evaluation, and how it reads its figure from a summary of log rows. */
interface EvaluationType {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly score: (summary: LogSummary) => { readonly value: number | null; readonly rows: number };
}

/** What can be evaluated: computed here, from the log (docs/compatibility.md). */
const types: readonly EvaluationType[] = [
  {
    id: "cost",
    name: "Cost",
    type: "cost",
    description: "Average cost of a request in US dollars, over the requests whose cost is known",
    score: ({ cost, costed }) => ({ value: cost, rows: costed }),
  },
  {
    id: "speed",
    name: "Speed",
    type: "speed",
    description:
      "Average duration of a request in milliseconds, over successful requests that no cache answered",
    score: ({ duration, timed }) => ({ value: duration, rows: timed }),
  },
  {
    id: "feedback",
    name: "Human feedback",
    type: "feedback",
    description: "Share of positive feedback in percent, over the requests that were rated",
    score: ({ liked, rated }) => ({
      value: rated === 0 ? null : (100 * liked) / rated,
      rows: rated,
    }),
  },
];

/** The evaluation types as clients see them. Throws `invalid_request` for an order by what they do not have. */
export function listEvaluationTypes(
  orderBy: string,
  descending: boolean,
): Record<string, unknown>[] {
  const at = "2026-01-01T00:00:00.000Z";
  const shown = types.map(({ id, name, type, description }) => ({
    id,
    name,
    type,
    description,
    enable: true,
    mandatory: false,
    created_at: at,
    modified_at: at,
  }));
  if (!shown.every((type) => Object.hasOwn(type, orderBy))) {
    throw new ApiError("invalid_request", {
      message: `order_by: evaluation types have no "${orderBy.slice(0, 64)}"`,
    });
  }
  const text = (type: Record<string, unknown>): string =>
    `${String(type[orderBy])} ${String(type["id"])}`;
  const sorted = shown.toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
  return descending ? sorted.toReversed() : sorted;
}

/** What an evaluation needs. */
export interface EvaluationDeps {
  readonly account: string;
  readonly gateway: string;
  readonly records: Records;
  readonly system: System;
  /** Sums up the rows that any of the queries finds. */
  readonly summarise: (queries: readonly LogQuery[]) => Promise<LogSummary>;
}

/** Evaluates datasets as the log is now; the answer is stored. Throws `invalid_request` for an unknown id. */
export async function createEvaluation(
  body: EvaluationCreate,
  deps: EvaluationDeps,
): Promise<StoredRecord> {
  const { records, system, account, gateway } = deps;
  const wanted = body.evaluation_type_ids.map((id) => {
    const type = types.find((one) => one.id === id);
    if (type === undefined) throw unknownId("evaluation_type_ids", id);
    return type;
  });
  const datasets = await Promise.all(
    body.dataset_ids.map((id) =>
      records.get({ collection: "dataset", id }).catch((error: unknown) => {
        const isGone = error instanceof ApiError && error.kind === "not_found";
        throw isGone ? unknownId("dataset_ids", id) : error;
      }),
    ),
  );
  const summary = await deps.summarise(
    datasets.map((one) => logQueryOf(one.body["filters"] as readonly DatasetFilter[])),
  );
  const id = system.id();
  const at = new Date(system.now()).toISOString();
  const owner = { account_id: account, account_tag: account };
  const evaluated = {
    name: body.name,
    processed: true,
    total_logs: summary.total,
    datasets: datasets.map((one): Value => ({ ...recordView(gateway, one), ...owner })),
    results: wanted.map((type) => resultOf(type, summary, id, system.id(), at)),
  };
  const record = newRecord({ collection: "evaluation", id, body: evaluated }, system);
  await records.write({ creates: [record] });
  return record;
}

/** `status` 1 = there is a figure, 0 = no row of the datasets has one. */
function resultOf(
  type: EvaluationType,
  summary: LogSummary,
  evaluation: string,
  id: string,
  at: string,
): Value {
  const { value, rows } = type.score(summary);
  return {
    id,
    evaluation_id: evaluation,
    evaluation_type_id: type.id,
    result: value === null ? "" : String(Number(value.toPrecision(6))),
    status: value === null ? 0 : 1,
    status_description:
      value === null ? "No log row of the datasets has a figure for this" : "Completed",
    total_logs: rows,
    created_at: at,
    modified_at: at,
  };
}

function unknownId(field: string, id: string): ApiError {
  return new ApiError("invalid_request", { message: `${field}: there is no "${id}" here` });
}
