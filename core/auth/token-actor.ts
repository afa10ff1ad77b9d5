import { conflict } from "../http/api-error.ts";
import type { ActorContext, ActorKind, SqlRow, SqlValue } from "../ports.ts";
import { grantsOf, type Policy } from "./policies.ts";
import type { Principal } from "./principal.ts";

/** Tokens that one installation can hold: all of them are kept in memory for cheap lookups. */
export const TOKEN_LIMIT: number = 10_000;

/** Precision of `last_used_on` in ms: with a finer one every request would be a write. */
const USE_GRAIN = 60_000;

/** A stored token. Times are Unix ms; the hash is the SHA-256 of the token in hexadecimal. */
export type TokenRecord = {
  readonly id: string;
  /** The account that owns it; `"*"` = the whole installation (the `/user/tokens` routes). */
  readonly owner: string;
  readonly name: string;
  readonly hash: string;
  readonly policies: readonly Policy[];
  readonly status: "active" | "disabled";
  readonly issuedOn: number;
  readonly modifiedOn: number;
  readonly lastUsedOn: number | null;
  readonly notBefore: number | null;
  readonly expiresOn: number | null;
};

/** The one actor that holds every API token: SQL rows, mirrored in memory by hash and by id. */
export const tokenKind: ActorKind = {
  name: "tokens",
  schema: [
    `CREATE TABLE auth_tokens (
      actor TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL,
      policies TEXT NOT NULL, status TEXT NOT NULL, issued_on BIGINT NOT NULL, modified_on BIGINT NOT NULL,
      last_used_on BIGINT, not_before BIGINT, expires_on BIGINT, PRIMARY KEY (actor, id))`,
    "CREATE UNIQUE INDEX auth_tokens_hash ON auth_tokens (actor, hash)",
  ],
  interleaved: ["find"],
  async start(context) {
    const rows = await context.sql.all("SELECT * FROM auth_tokens WHERE actor = ?", [context.name]);
    return { methods: tokenMethods(context, tokenIndex(rows.map(fromRow))) };
  },
};

/** The methods of the actor, over its records. */
export interface TokenMethods {
  /** The principal of a hash; null when unknown, disabled, expired or not yet valid. */
  find(hash: string): Principal | null;
  /** Writes a new record. Rejects with `conflict` over {@link TOKEN_LIMIT}. */
  add(record: TokenRecord): Promise<TokenRecord>;
  /**
   * Replaces a record that the caller has seen with this `modifiedOn`. Rejects with `conflict` when it has
   * changed or gone since: a late update must not revive a rolled secret or a deleted token.
   */
  replace(record: TokenRecord, seenModifiedOn: number): Promise<TokenRecord>;
  get(owner: string | null, id: string): TokenRecord | null;
  list(owner: string): TokenRecord[];
  remove(owner: string, id: string): Promise<boolean>;
}

function tokenMethods(context: ActorContext, index: TokenIndex): TokenMethods & Methods {
  const save = async (record: TokenRecord): Promise<TokenRecord> => {
    await context.sql.batch([{ sql: UPSERT, params: toRow(context.name, record) }]);
    index.remember(record);
    return record;
  };
  return {
    find: (hash) => find(hash, context, index),
    async add(record) {
      if (index.size() < TOKEN_LIMIT) return await save(record);
      throw conflict(`The limit of ${TOKEN_LIMIT} API tokens is reached: delete some first`);
    },
    async replace(record, seenModifiedOn) {
      const current = index.byId(record.id);
      if (current?.modifiedOn === seenModifiedOn) {
        return await save({ ...record, lastUsedOn: current.lastUsedOn });
      }
      throw conflict("The API token was changed meanwhile: try again");
    },
    get(owner, id) {
      const record = index.byId(id);
      return record !== undefined && (owner === null || record.owner === owner) ? record : null;
    },
    list: (owner) => index.all().filter((record) => record.owner === owner),
    async remove(owner, id) {
      if (index.byId(id)?.owner !== owner) return false;
      await context.sql.batch([
        { sql: "DELETE FROM auth_tokens WHERE actor = ? AND id = ?", params: [context.name, id] },
      ]);
      index.forget(id);
      return true;
    },
  };
}

function find(hash: string, context: ActorContext, index: TokenIndex): Principal | null {
  const record = index.byHash(hash);
  const now = context.system.now();
  if (record === undefined || !isUsable(record, now)) return null;
  if (now - (record.lastUsedOn ?? 0) >= USE_GRAIN) {
    index.remember({ ...record, lastUsedOn: now });
    context.system.waitUntil(noteUse(context, record.id, now));
  }
  return principalOf(record);
}

/** The records in memory. */
interface TokenIndex {
  size(): number;
  all(): TokenRecord[];
  byId(id: string): TokenRecord | undefined;
  byHash(hash: string): TokenRecord | undefined;
  remember(record: TokenRecord): void;
  forget(id: string): void;
}

function tokenIndex(records: readonly TokenRecord[]): TokenIndex {
  const byId = new Map(records.map((record) => [record.id, record]));
  const byHash = new Map(records.map((record) => [record.hash, record]));
  const forget = (id: string): void => {
    const old = byId.get(id);
    if (old !== undefined) byHash.delete(old.hash);
    byId.delete(id);
  };
  return {
    size: () => byId.size,
    all: () => [...byId.values()],
    byId: (id) => byId.get(id),
    byHash: (hash) => byHash.get(hash),
    remember(record) {
      forget(record.id);
      byId.set(record.id, record);
      byHash.set(record.hash, record);
    },
    forget,
  };
}

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

function isUsable(record: TokenRecord, now: number): boolean {
  if (record.status !== "active" || (record.notBefore !== null && now < record.notBefore))
    return false;
  return record.expiresOn === null || now < record.expiresOn;
}

function principalOf(record: TokenRecord): Principal {
  return { id: record.id, kind: "token", name: record.name, ...grantsOf(record.policies) };
}

/** A failure to note the use does not fail the request: a lost update costs a minute of precision. */
async function noteUse(context: ActorContext, id: string, now: number): Promise<void> {
  const sql = "UPDATE auth_tokens SET last_used_on = ? WHERE actor = ? AND id = ?";
  await context.sql.batch([{ sql, params: [now, context.name, id] }]).catch(() => undefined);
}

const UPSERT = `INSERT INTO auth_tokens
  (actor, id, owner, name, hash, policies, status, issued_on, modified_on, last_used_on, not_before, expires_on)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (actor, id) DO UPDATE SET name = excluded.name, hash = excluded.hash, policies = excluded.policies,
    status = excluded.status, modified_on = excluded.modified_on, not_before = excluded.not_before,
    expires_on = excluded.expires_on`;

function toRow(actor: string, record: TokenRecord): SqlValue[] {
  const { id, owner, name, hash, status, issuedOn, modifiedOn, lastUsedOn, notBefore, expiresOn } =
    record;
  const policies = JSON.stringify(record.policies);
  return [
    actor,
    id,
    owner,
    name,
    hash,
    policies,
    status,
    issuedOn,
    modifiedOn,
    lastUsedOn,
    notBefore,
    expiresOn,
  ];
}

function fromRow(row: SqlRow): TokenRecord {
  const time = (value: SqlValue | undefined): number | null =>
    typeof value === "number" ? value : null;
  return {
    id: String(row["id"]),
    owner: String(row["owner"]),
    name: String(row["name"]),
    hash: String(row["hash"]),
    policies: JSON.parse(String(row["policies"])) as readonly Policy[],
    status: row["status"] === "active" ? "active" : "disabled",
    issuedOn: time(row["issued_on"]) ?? 0,
    modifiedOn: time(row["modified_on"]) ?? 0,
    lastUsedOn: time(row["last_used_on"]),
    notBefore: time(row["not_before"]),
    expiresOn: time(row["expires_on"]),
  };
}
