import type { ActorContext, SqlRow, Statement } from "../../ports.ts";
import type { Collection, RecordName, StoredRecord } from "./record.ts";

/** Reads records of a collection by a condition. */
export type Select = (
  condition: string,
  collection: Collection,
  ...params: string[]
) => Promise<StoredRecord[]>;

/** The reader of one actor's records. */
export function selectFrom({ name: actor, sql }: ActorContext): Select {
  return async (condition, collection, ...params) => {
    const text = `SELECT * FROM gateway_records WHERE actor = ? AND collection = ? AND ${condition}`;
    return (await sql.all(text, [actor, collection, ...params])).map(fromRow);
  };
}

/** The statement that removes a record. */
export function removal(actor: string, { collection, id }: RecordName): Statement {
  return {
    sql: "DELETE FROM gateway_records WHERE actor = ? AND collection = ? AND id = ?",
    params: [actor, collection, id],
  };
}

/** The statement that writes a record, new or known. */
export function upsertRecord(actor: string, record: StoredRecord): Statement {
  const { collection, id, parent, key, body, createdAt, modifiedAt } = record;
  return {
    sql: `INSERT INTO gateway_records (actor, collection, id, parent, name, body, created_at, modified_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, collection, id) DO UPDATE SET
      parent = excluded.parent, name = excluded.name, body = excluded.body, modified_at = excluded.modified_at`,
    params: [actor, collection, id, parent, key, JSON.stringify(body), createdAt, modifiedAt],
  };
}

function fromRow(row: SqlRow): StoredRecord {
  return {
    collection: String(row["collection"]) as Collection,
    id: String(row["id"]),
    parent: String(row["parent"]),
    key: String(row["name"]),
    body: JSON.parse(String(row["body"])) as StoredRecord["body"],
    createdAt: Number(row["created_at"]),
    modifiedAt: Number(row["modified_at"]),
  };
}
