import { BoundedMap } from "../../../work/bounded-map.ts";
import type { ActorContext, Sql, SqlRow, SqlValue, Statement } from "../../../ports.ts";
import { type KeySettings, keySettings, type VirtualKey } from "./virtual-key.ts";

/** Keys that are kept in memory. */
const REMEMBERED = 5000;

/** How a key is looked up: by the hash of its secret, or by its id once it has been let in. */
type KeyReference = { readonly hash: string } | { readonly id: string };

/** The rows of one account's keys, those in use remembered. */
export interface KeyRows {
  find(keyReference: KeyReference): Promise<VirtualKey | null>;
  put(key: VirtualKey): Promise<void>;
  remove(id: string, together: readonly Statement[]): Promise<void>;
  /** The keys of the configuration. */
  declared(): Promise<VirtualKey[]>;
  /** Whether a team has keys that are not of the configuration. */
  hasFreeKeys(team: string): Promise<boolean>;
  /** The statements of `put` and `remove`, for {@link KeyRows.write}. */
  upsert(key: VirtualKey): Statement;
  removal(id: string): Statement;
  write(statements: readonly Statement[]): Promise<void>;
  /** Never rejects: a lost update costs a minute of precision. */
  noteUse(key: VirtualKey, now: number): Promise<void>;
}

export function keyRows({ name: actor, sql }: ActorContext): KeyRows {
  const known = new BoundedMap<string, VirtualKey | null>(REMEMBERED);
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
    return row === undefined ? null : keyOfRow(row);
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
      if (before === generation) known.set(name, key);
      return key;
    },
    put: (key) => write([upsert(actor, key)]),
    remove: (id, together) => write([removal(actor, id), ...together]),
    ...declaredReads(actor, sql),
    upsert: (key) => upsert(actor, key),
    removal: (id) => removal(actor, id),
    write,
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

function declaredReads(actor: string, sql: Sql): Pick<KeyRows, "declared" | "hasFreeKeys"> {
  return {
    async declared() {
      const text = "SELECT * FROM gateway_keys WHERE actor = ? AND declared = 1";
      return (await sql.all(text, [actor])).map(keyOfRow);
    },
    async hasFreeKeys(team) {
      const found = await sql.all(
        "SELECT id FROM gateway_keys WHERE actor = ? AND team = ? AND COALESCE(declared, 0) = 0 LIMIT 1",
        [actor, team],
      );
      return found.length > 0;
    },
  };
}

function upsert(actor: string, key: VirtualKey): Statement {
  return { sql: UPSERT, params: toRow(actor, key) };
}

function removal(actor: string, id: string): Statement {
  return {
    sql: "DELETE FROM gateway_keys WHERE actor = ? AND id = ?",
    params: [actor, id],
  };
}

const UPSERT = `INSERT INTO gateway_keys (actor, id, hash, former_hash, former_until, ending, name, owner, team, declared, settings,
    created_at, modified_at, last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (actor, id) DO UPDATE SET hash = excluded.hash, former_hash = excluded.former_hash,
    former_until = excluded.former_until, ending = excluded.ending, name = excluded.name, owner = excluded.owner,
    team = excluded.team, declared = excluded.declared, settings = excluded.settings, modified_at = excluded.modified_at`;

function toRow(actor: string, key: VirtualKey): SqlValue[] {
  const { id, hash, formerHash, formerUntil, ending, settings } = key;
  const declared = Number(key.declared);
  const { name, owner, team } = settings;
  const times = [key.createdAt, key.modifiedAt, key.lastUsedAt];
  const text = JSON.stringify(settings);
  return [
    actor,
    id,
    hash,
    formerHash,
    formerUntil,
    ending,
    name,
    owner,
    team,
    declared,
    text,
    ...times,
  ];
}

export function keyOfRow(row: SqlRow): VirtualKey {
  const number = (value: SqlValue | undefined): number | null =>
    value === null || value === undefined ? null : Number(value);
  return {
    id: String(row["id"]),
    hash: String(row["hash"]),
    formerHash: row["former_hash"] === null ? null : String(row["former_hash"]),
    formerUntil: number(row["former_until"]),
    ending: String(row["ending"]),
    settings: keySettings(JSON.parse(String(row["settings"])) as KeySettings),
    declared: row["declared"] === 1,
    createdAt: Number(row["created_at"]),
    modifiedAt: Number(row["modified_at"]),
    lastUsedAt: number(row["last_used_at"]),
  };
}
