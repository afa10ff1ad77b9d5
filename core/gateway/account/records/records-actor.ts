import { BoundedMap } from "../../../work/bounded-map.ts";
import { toBase64 } from "../../../crypto/encoding.ts";
import type { ActorContext, ActorKind, SqlRow, Statement } from "../../../ports.ts";
import {
  type Collection,
  noRecord,
  recordLimits,
  type RecordName,
  type RecordPage,
  type RecordQuery,
  selectRecords,
  type StoredRecord,
} from "./record.ts";
import { type UseCounts, useCounts, useSchema } from "./use-counts.ts";
import { ApiError } from "../../../http/api-error.ts";

/** Answers of lookups that are kept in memory: names come from callers, so their number is bounded. */
const REMEMBERED = 1000;

/** The changes of one write, which is made as a whole or not at all. */
export type RecordChanges = {
  readonly creates?: readonly StoredRecord[];
  readonly replaces?: readonly StoredRecord[];
  readonly removes?: readonly RecordName[];
  /** A flag that only one record of a parent can have: setting it takes it from the one before. @default none */
  readonly sole?: string | null;
};

interface RecordReads {
  /** Throws `not_found`. */
  get(name: RecordName): Promise<StoredRecord>;
  find(collection: Collection, key: string): Promise<StoredRecord | null>;
  /** All records of a parent, oldest first. */
  group(collection: Collection, parent: string): Promise<readonly StoredRecord[]>;
  list(query: RecordQuery, offset: number, limit: number): Promise<RecordPage>;
}

interface RecordWrites {
  /** In one transaction. Throws `conflict` and, for a replaced one that is gone, `not_found`. */
  write(changes: RecordChanges): Promise<void>;
  /** Replaces a sealed text in the records of a collection that still have it: several can share a secret. */
  reseal(collection: Collection, from: string, to: string): Promise<void>;
  /** Removes a record and everything whose parent it is. */
  remove(name: RecordName): Promise<void>;
  clear(): Promise<void>;
}

/** The methods that keep the secret which stands in for a master key. */
interface OwnKey {
  /** Null when none was ever needed. */
  storedMaster(): Promise<string | null>;
  ownMaster(): Promise<string>;
}

export interface RecordMethods extends RecordReads, RecordWrites, OwnKey, UseCounts {}

/** The table in which versions before this one count uses: one of them may run beside this one. */
const COUNTERS_BEFORE = `CREATE TABLE gateway_counters (
  actor TEXT NOT NULL, name TEXT NOT NULL, window_start BIGINT NOT NULL, amount DOUBLE PRECISION NOT NULL,
  before DOUBLE PRECISION NOT NULL, expires_at BIGINT NOT NULL, PRIMARY KEY (actor, name))`;

/**
 * The resources of the management API that belong to one account (`account:{account}`) or to one gateway
 * (`gateway:{account}/{gateway}`), with the counts of their limits.
 */
export const recordsActor: ActorKind = {
  name: "gateway-records",
  schema: [
    `CREATE TABLE gateway_records (
      actor TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, parent TEXT NOT NULL,
      name TEXT NOT NULL, body TEXT NOT NULL, created_at BIGINT NOT NULL, modified_at BIGINT NOT NULL,
      PRIMARY KEY (actor, collection, id))`,
    "CREATE UNIQUE INDEX gateway_records_name ON gateway_records (actor, collection, name)",
    "CREATE INDEX gateway_records_parent ON gateway_records (actor, collection, parent)",
    "CREATE TABLE gateway_master_keys (actor TEXT PRIMARY KEY, master TEXT NOT NULL)",
    COUNTERS_BEFORE,
    ...useSchema,
  ],
  // Read on the way of requests: they must not wait behind a write.
  interleaved: ["find", "group", "takeUse", "addCosts"],
  start(context) {
    const memory = lookupMemory();
    const uses = useCounts(context);
    return Promise.resolve({
      methods: {
        ...readMethods(context, memory),
        ...writeMethods(context, memory, () => uses.forget()),
        ...keyMethods(context),
        ...uses.methods,
      },
    });
  },
};

interface Memory {
  /** Remembers what `read` resolves to, unless something was written meanwhile. */
  recall<T>(name: string, read: () => Promise<T>): Promise<T>;
  forget(): void;
}

function lookupMemory(): Memory {
  const known = new BoundedMap<string, unknown>(REMEMBERED);
  let generation = 0;
  return {
    async recall<T>(name: string, read: () => Promise<T>): Promise<T> {
      if (known.has(name)) return known.get(name) as T;
      const before = generation;
      const found = await read();
      if (before === generation) known.set(name, found);
      return found;
    },
    forget() {
      generation++;
      known.clear();
    },
  };
}

function readMethods(context: ActorContext, memory: Memory): RecordReads {
  const select = selectFrom(context);
  return {
    async get(name) {
      const [found] = await select("id = ?", name.collection, name.id);
      if (found === undefined) throw noRecord(name);
      return found;
    },
    find: (collection, key) =>
      memory.recall(
        `find\0${collection}\0${key}`,
        async () => (await select("name = ?", collection, key))[0] ?? null,
      ),
    group: (collection, parent) =>
      memory.recall(`group\0${collection}\0${parent}`, () =>
        select("parent = ? ORDER BY created_at, id", collection, parent),
      ),
    async list(query, offset, limit) {
      const { collection, parent } = query;
      const all = await (parent === undefined
        ? select("1 = 1", collection)
        : select("parent = ?", collection, parent));
      const found = selectRecords(all, query);
      return { records: found.slice(offset, offset + limit), total: found.length };
    },
  };
}

function writeMethods(
  context: ActorContext,
  memory: Memory,
  forgetUses: () => Statement,
): RecordWrites {
  const { name: actor, sql } = context;
  const select = selectFrom(context);
  const checks = checksOf(context, select);
  const run = async (statements: readonly Statement[]): Promise<void> => {
    memory.forget();
    // Also after a failure: the transaction may be stored although its answer was lost.
    await sql.batch(statements).finally(() => memory.forget());
  };
  /** The siblings of records, without the flag that only one of them can have. */
  const displacedBy = async (
    written: readonly StoredRecord[],
    flag: string,
  ): Promise<StoredRecord[]> => {
    const found = written
      .filter(({ body }) => body[flag] === true)
      .map(({ collection, parent }) => select("parent = ?", collection, parent));
    return (await Promise.all(found))
      .flat()
      .filter(({ id, body }) => body[flag] === true && !written.some((one) => one.id === id))
      .map((other) => ({ ...other, body: { ...other.body, [flag]: false } }));
  };
  return {
    async write({ creates = [], replaces = [], removes = [], sole = null }) {
      for (const record of creates) await checks.room(record);
      for (const record of replaces) await checks.presence(record);
      const written = [...creates, ...replaces];
      for (const record of written) await checks.key(record);
      const displaced = sole === null ? [] : await displacedBy(written, sole);
      await run([
        ...removes.map((name) => removal(actor, name)),
        ...[...written, ...displaced].map((record) => upsertRecord(actor, record)),
      ]);
    },
    async reseal(collection, from, to) {
      const records = await select("1 = 1", collection);
      const changed = records
        .filter(({ body }) => body["sealed"] === from)
        .map((record) => upsertRecord(actor, { ...record, body: { ...record.body, sealed: to } }));
      if (changed.length > 0) await run(changed);
    },
    async remove(name) {
      const sqlText = "DELETE FROM gateway_records WHERE actor = ? AND parent = ?";
      await run([removal(actor, name), { sql: sqlText, params: [actor, name.id] }]);
    },
    clear: () =>
      run([
        ...["gateway_records", "gateway_master_keys", "gateway_counters"].map((table) => ({
          sql: `DELETE FROM ${table} WHERE actor = ?`,
          params: [actor],
        })),
        forgetUses(),
      ]),
  };
}

function keyMethods({ name: actor, sql, system }: ActorContext): OwnKey {
  const stored = async (): Promise<string | null> => {
    const [row] = await sql.all("SELECT master FROM gateway_master_keys WHERE actor = ?", [actor]);
    return row === undefined ? null : String(row["master"]);
  };
  return {
    storedMaster: stored,
    async ownMaster() {
      const found = await stored();
      if (found !== null) return found;
      const master = toBase64(system.random(32));
      const text = "INSERT INTO gateway_master_keys (actor, master) VALUES (?, ?)";
      await sql.batch([{ sql: text, params: [actor, master] }]);
      return master;
    },
  };
}

/** Throws for records that must not be written. */
export interface RecordChecks {
  /** `conflict` when another record has its key. */
  key(record: StoredRecord): Promise<void>;
  /** `conflict` when its collection is full. */
  room(record: StoredRecord): Promise<void>;
  /** `not_found` when it is gone. */
  presence(record: StoredRecord): Promise<void>;
}

export function checksOf({ name: actor, sql }: ActorContext, select: Select): RecordChecks {
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

/** Reads records of a collection by a condition. */
type Select = (where: string, of: Collection, ...params: string[]) => Promise<StoredRecord[]>;

function selectFrom({ name: actor, sql }: ActorContext): Select {
  return async (condition, collection, ...params) => {
    const text = `SELECT * FROM gateway_records WHERE actor = ? AND collection = ? AND ${condition}`;
    return (await sql.all(text, [actor, collection, ...params])).map(fromRow);
  };
}

function removal(actor: string, { collection, id }: RecordName): Statement {
  return {
    sql: "DELETE FROM gateway_records WHERE actor = ? AND collection = ? AND id = ?",
    params: [actor, collection, id],
  };
}

function upsertRecord(actor: string, record: StoredRecord): Statement {
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
