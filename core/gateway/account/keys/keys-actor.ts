import { ApiError } from "../../../http/api-error.ts";
import type { ActorContext, ActorKind, SqlRow, SqlValue, Statement } from "../../../ports.ts";
import { contains } from "../../../sql/sql-text.ts";
import type { Amounts, Claims, LedgerEntry, Reservation } from "../../metering/spend/ledger.ts";
import { type KeyLedger, keyLedger, usageSchema } from "./key-ledger.ts";
import { type KeySettings, keySettings, type LimitUsage, type VirtualKey } from "./virtual-key.ts";

/** Keys that one account can have. */
const KEY_LIMIT = 100_000;
/** Keys that are kept in memory. */
const REMEMBERED = 5000;
/** How exact `last_used_at` is, in ms: more often, every request would be a write. */
const USE_GRAIN = 60_000;

/** How a key is looked up: by the hash of its secret, or by its id once it has been let in. */
type KeyReference = { readonly hash: string } | { readonly id: string };

/** The outcome of a request that presents a key: the key, or why it is refused. */
export type KeyEntrance =
  | { readonly key: Pick<VirtualKey, "id" | "settings" | "modifiedAt"> }
  | { readonly reason: "unknown" | "disabled" | "expired" | "gateway" }
  | { readonly refused: string; readonly wait: number | null };

/** A key, and what it has used. */
export type KeyWithUsage = { readonly key: VirtualKey; readonly usage: readonly LimitUsage[] };

/** A page of keys, with what each has used. */
export type KeyPage = { readonly keys: readonly KeyWithUsage[]; readonly total: number };

/** The parameters of a listing of keys. */
export type KeyQuery = {
  /** Part of id, name, owner or settings. */
  readonly search: string;
  /** @default every owner */
  readonly owner?: string | undefined;
};

/** The methods for requests that present a key. */
interface KeyUseMethods {
  /** Finds the key with a secret's hash, as it may use a gateway; counts one request, if `counts`. */
  enter(hash: string, gateway: string, counts: boolean): Promise<KeyEntrance>;
  /** Sets aside what a request may use, see `KeyLedger`. */
  reserve(id: string, claims: Claims): Promise<Reservation>;
  settle(entries: readonly LedgerEntry[], amounts: Amounts): Promise<void>;
}

/** The methods for the management API. */
interface KeyManagementMethods {
  create(key: VirtualKey): Promise<KeyWithUsage>;
  get(id: string): Promise<KeyWithUsage | null>;
  /** Replaces a key that was seen with this `modifiedAt`; a late change must not revive a rotated secret. */
  replace(key: VirtualKey, seen: number): Promise<KeyWithUsage>;
  /** Resolves to whether there was such a key. */
  remove(id: string): Promise<boolean>;
  list(query: KeyQuery, offset: number, limit: number): Promise<KeyPage>;
}

/** The methods of an account's keys. */
export interface KeyMethods extends KeyUseMethods, KeyManagementMethods {}

/** The virtual keys of one account, named by it, and what they have used. */
export const keysActor: ActorKind = {
  name: "gateway-keys",
  schema: [
    `CREATE TABLE gateway_keys (
      actor TEXT NOT NULL, id TEXT NOT NULL, hash TEXT NOT NULL, former_hash TEXT, former_until BIGINT,
      ending TEXT NOT NULL, name TEXT NOT NULL, owner TEXT, settings TEXT NOT NULL,
      created_at BIGINT NOT NULL, modified_at BIGINT NOT NULL, last_used_at BIGINT, PRIMARY KEY (actor, id))`,
    "CREATE UNIQUE INDEX gateway_keys_hash ON gateway_keys (actor, hash)",
    "CREATE INDEX gateway_keys_former ON gateway_keys (actor, former_hash)",
    ...usageSchema,
  ],
  // On the way of requests: they must not wait behind a listing.
  interleaved: ["enter", "reserve", "settle"],
  start(context) {
    const ledger = keyLedger(context);
    const rows = keyRows(context);
    return {
      methods: {
        ...useMethods(context, rows, ledger),
        ...manageMethods(context, rows, ledger),
      },
    };
  },
};

function useMethods(context: ActorContext, rows: KeyRows, ledger: KeyLedger): KeyUseMethods {
  const { system } = context;
  return {
    async enter(hash, gateway, counts) {
      const now = system.now();
      const key = await rows.find({ hash });
      if (key === null || isLate(key, hash, now)) return { reason: "unknown" };
      const { id, settings } = key;
      if (!settings.enabled) return { reason: "disabled" };
      if (settings.expires_at !== null && now >= settings.expires_at) return { reason: "expired" };
      if (settings.gateways?.includes(gateway) === false) return { reason: "gateway" };
      if (counts) {
        const decision = await ledger.reserve(id, settings.limits, ONE_REQUEST);
        if ("refused" in decision) return decision;
      }
      if (now - (key.lastUsedAt ?? 0) >= USE_GRAIN) system.waitUntil(rows.noteUse(key, now));
      return { key: { id, settings, modifiedAt: key.modifiedAt } };
    },
    async reserve(id, claims) {
      const key = await rows.find({ id });
      return ledger.reserve(id, key?.settings.limits ?? [], claims);
    },
    settle: (entries, amounts) => ledger.settle(entries, amounts),
  };
}

const ONE_REQUEST: Claims = { requests: { needed: 1, guessed: 0 } };

/** Whether a key was presented by a secret that it no longer has. */
function isLate(key: VirtualKey, hash: string, now: number): boolean {
  if (hash === key.hash) return false;
  return key.formerUntil === null || now >= key.formerUntil;
}

function manageMethods(
  { name: actor, sql }: ActorContext,
  rows: KeyRows,
  ledger: KeyLedger,
): KeyManagementMethods {
  const shown = async (key: VirtualKey): Promise<KeyWithUsage> => ({
    key,
    usage: await ledger.usage(key.id, key.settings.limits),
  });
  return {
    async create(key) {
      const [row] = await sql.all("SELECT COUNT(*) AS n FROM gateway_keys WHERE actor = ?", [
        actor,
      ]);
      if (Number(row?.["n"] ?? 0) >= KEY_LIMIT) {
        throw new ApiError("conflict", {
          message: `The limit of ${KEY_LIMIT} virtual keys is reached: delete some first`,
        });
      }
      await rows.put(key);
      return shown(key);
    },
    async get(id) {
      const key = await rows.find({ id });
      return key === null ? null : shown(key);
    },
    async replace(key, seen) {
      const current = await rows.find({ id: key.id });
      if (current?.modifiedAt !== seen) {
        throw new ApiError("conflict", {
          message: "The virtual key was changed meanwhile: try again",
        });
      }
      await rows.put({ ...key, lastUsedAt: current.lastUsedAt });
      return shown(key);
    },
    async remove(id) {
      if ((await rows.find({ id })) === null) return false;
      await rows.remove(id, [ledger.forget(id)]);
      return true;
    },
    async list({ search, owner }, offset, limit) {
      const { where, params } = condition(actor, search, owner);
      const [total] = await sql.all(
        `SELECT COUNT(*) AS n FROM gateway_keys WHERE ${where}`,
        params,
      );
      const found = await sql.all(
        `SELECT * FROM gateway_keys WHERE ${where} ORDER BY created_at DESC, id LIMIT ? OFFSET ?`,
        [...params, limit, offset],
      );
      const keys = await Promise.all(found.map(fromRow).map(shown));
      return { keys, total: Number(total?.["n"] ?? 0) };
    },
  };
}

function condition(
  actor: string,
  search: string,
  owner: string | undefined,
): { where: string; params: SqlValue[] } {
  const parts = ["actor = ?"];
  const params: SqlValue[] = [actor];
  if (owner !== undefined) {
    parts.push("owner = ?");
    params.push(owner);
  }
  if (search !== "") {
    const fields = ["id", "name", "settings"];
    parts.push(`(${fields.map(contains).join(" OR ")})`);
    for (const _ of fields) params.push(search);
  }
  return { where: parts.join(" AND "), params };
}

/** The rows of one account's keys, those in use remembered. */
interface KeyRows {
  find(keyReference: KeyReference): Promise<VirtualKey | null>;
  put(key: VirtualKey): Promise<void>;
  remove(id: string, together: readonly Statement[]): Promise<void>;
  /** Never rejects: a lost update costs a minute of precision. */
  noteUse(key: VirtualKey, now: number): Promise<void>;
}

function keyRows({ name: actor, sql }: ActorContext): KeyRows {
  const known = new Map<string, VirtualKey | null>();
  let generation = 0;
  const forget = (): void => {
    generation++;
    known.clear();
  };
  const read = async (keyReference: KeyReference): Promise<VirtualKey | null> => {
    const [row] =
      "hash" in keyReference
        ? await sql.all(
            "SELECT * FROM gateway_keys WHERE actor = ? AND (hash = ? OR former_hash = ?)",
            [actor, keyReference.hash, keyReference.hash],
          )
        : await sql.all("SELECT * FROM gateway_keys WHERE actor = ? AND id = ?", [
            actor,
            keyReference.id,
          ]);
    return row === undefined ? null : fromRow(row);
  };
  const write = async (statements: readonly Statement[]): Promise<void> => {
    forget();
    // Also after a failure: the transaction may be stored although its answer was lost.
    await sql.batch(statements).finally(forget);
  };
  return {
    async find(keyReference) {
      const name = "hash" in keyReference ? keyReference.hash : `id:${keyReference.id}`;
      const found = known.get(name);
      if (found !== undefined) return found;
      const before = generation;
      const key = await read(keyReference);
      if (before === generation) {
        if (known.size >= REMEMBERED) known.clear();
        known.set(name, key);
      }
      return key;
    },
    put: (key) => write([{ sql: UPSERT, params: toRow(actor, key) }]),
    remove: (id, together) =>
      write([
        { sql: "DELETE FROM gateway_keys WHERE actor = ? AND id = ?", params: [actor, id] },
        ...together,
      ]),
    async noteUse(key, now) {
      for (const [name, one] of known)
        if (one?.id === key.id) known.set(name, { ...one, lastUsedAt: now });
      const text = "UPDATE gateway_keys SET last_used_at = ? WHERE actor = ? AND id = ?";
      await sql
        .batch([{ sql: text, params: [now, actor, key.id] }], { lazy: true })
        .catch(() => undefined);
    },
  };
}

const UPSERT = `INSERT INTO gateway_keys (actor, id, hash, former_hash, former_until, ending, name, owner, settings,
    created_at, modified_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (actor, id) DO UPDATE SET hash = excluded.hash, former_hash = excluded.former_hash,
    former_until = excluded.former_until, ending = excluded.ending, name = excluded.name, owner = excluded.owner,
    settings = excluded.settings, modified_at = excluded.modified_at`;

function toRow(actor: string, key: VirtualKey): SqlValue[] {
  const { id, hash, formerHash, formerUntil, ending, settings } = key;
  const { name, owner } = settings;
  const times = [key.createdAt, key.modifiedAt, key.lastUsedAt];
  const text = JSON.stringify(settings);
  return [actor, id, hash, formerHash, formerUntil, ending, name, owner, text, ...times];
}

function fromRow(row: SqlRow): VirtualKey {
  const number = (value: SqlValue | undefined): number | null =>
    value === null || value === undefined ? null : Number(value);
  return {
    id: String(row["id"]),
    hash: String(row["hash"]),
    formerHash: row["former_hash"] === null ? null : String(row["former_hash"]),
    formerUntil: number(row["former_until"]),
    ending: String(row["ending"]),
    settings: keySettings(JSON.parse(String(row["settings"])) as KeySettings),
    createdAt: Number(row["created_at"]),
    modifiedAt: Number(row["modified_at"]),
    lastUsedAt: number(row["last_used_at"]),
  };
}
