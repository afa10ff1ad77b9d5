import * as v from "valibot";
import { plainText } from "../../http/plain-text.ts";
import type { System } from "../../ports.ts";
import { type LogQuery, parseLogQuery } from "../observe/log/log-filters.ts";
import { newRecord, type StoredRecord } from "../records/record.ts";
import type { Records } from "../records/records.ts";

/** A condition of a dataset on the rows of the log. */
export type DatasetFilter = {
  readonly key: string;
  readonly operator: string;
  readonly value: readonly (string | number | boolean)[];
};

/** The body that creates a dataset or replaces it. */
export interface DatasetWrite {
  readonly name: string;
  readonly enable: boolean;
  readonly filters: readonly DatasetFilter[];
}

/** Keys that a dataset can filter by. */
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

/** Checks a {@link DatasetWrite}. */
export const datasetWrite: v.GenericSchema<unknown, DatasetWrite> = v.object({
  name: plainText(128),
  enable: v.boolean(),
  filters: v.pipe(v.array(filter), v.maxLength(16, "at most 16 filters are allowed")),
});

/** Creates a dataset; throws `conflict` when its name is taken. */
export async function createDataset(
  body: DatasetWrite,
  records: Records,
  system: System,
): Promise<StoredRecord> {
  logQueryOf(body.filters);
  const draft = { collection: "dataset", key: body.name, body: { ...body } } as const;
  const record = newRecord(draft, system);
  await records.write({ creates: [record] });
  return record;
}

/** Replaces a dataset; throws `not_found`. */
export async function updateDataset(
  id: string,
  body: DatasetWrite,
  records: Records,
  system: System,
): Promise<StoredRecord> {
  logQueryOf(body.filters);
  const old = await records.get({ collection: "dataset", id });
  const record = { ...old, key: body.name, body: { ...body }, modifiedAt: system.now() };
  await records.write({ replaces: [record] });
  return record;
}

/** The log rows that a dataset stands for. Throws `invalid_request` for a value that does not fit its key. */
export function logQueryOf(filters: readonly DatasetFilter[]): LogQuery {
  const query = new URLSearchParams();
  for (const { key, operator, value } of filters) {
    query.append("filters.key", key);
    query.append("filters.operator", operator);
    for (const one of value) query.append("filters.value", String(one));
  }
  return parseLogQuery(`?${query}`);
}
