import { ApiError } from "../../http/api-error.ts";
import type { ActorContext } from "../../ports.ts";
import { noRecord, recordLimits, type StoredRecord } from "./record.ts";
import type { Select } from "./record-rows.ts";

/** Throws for records that must not be written. */
export interface Checks {
  /** `conflict` when another record has its key. */
  key(record: StoredRecord): Promise<void>;
  /** `conflict` when its collection is full. */
  room(record: StoredRecord): Promise<void>;
  /** `not_found` when it is gone. */
  presence(record: StoredRecord): Promise<void>;
}

/** The checks of one actor's records. */
export function checksOf({ name: actor, sql }: ActorContext, select: Select): Checks {
  const named = ({ collection }: StoredRecord): string => collection.replace("_", " ");
  return {
    async key(record) {
      const { collection, id, key } = record;
      if ((await select("name = ? AND id <> ?", collection, key, id)).length === 0) return;
      throw new ApiError("conflict", {
        message: `The ${named(record)} "${key.slice(0, 128)}" already exists`,
      });
    },
    async room(record) {
      const { collection, parent } = record;
      const limit = recordLimits[collection];
      const [row] = await sql.all(
        "SELECT COUNT(*) AS n FROM gateway_records WHERE actor = ? AND collection = ? AND parent = ?",
        [actor, collection, parent],
      );
      if (Number(row?.["n"] ?? 0) < limit) return;
      throw new ApiError("conflict", {
        message: `The limit of ${limit} ${named(record)}s is reached: delete one first`,
      });
    },
    async presence(record) {
      const { collection, id } = record;
      if ((await select("id = ?", collection, id)).length === 0) throw noRecord(record);
    },
  };
}
