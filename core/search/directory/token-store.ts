import { toBase64 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import type { ActorContext, SqlRow } from "../../ports.ts";

/** A stored credential as the API shows it: without its secret. */
export type SearchToken = {
  readonly id: string;
  readonly name: string;
  /** The access key id. */
  readonly cf_api_id: string;
  readonly legacy: boolean;
  readonly enabled: true;
  readonly created_at: string;
  readonly modified_at: string;
};

/** A credential as it is stored. */
export type StoredToken = {
  readonly id: string;
  readonly name: string;
  readonly keyId: string;
  readonly sealed: string;
  readonly legacy: boolean;
};

/** The methods of an account's directory that keep its credentials. */
export interface SearchTokenMethods {
  /** Writes a credential, new or known. Throws 7076 when the account has too many. */
  putToken(token: StoredToken, isNew: boolean): Promise<SearchToken>;
  /** Throws 7075. */
  token(id: string): Promise<SearchToken>;
  tokens(search: string): Promise<SearchToken[]>;
  /** Throws 7075, and 7076 while an instance uses it. */
  dropToken(id: string): Promise<SearchToken>;
  /** With its sealed secret, for its use. Throws 7075. */
  sealedToken(id: string): Promise<StoredToken>;
  /** The secret that stands in for a master key of the operator's. */
  ownMaster(): Promise<string>;
}

/** BucketCredentials of an account. */
const MAX_TOKENS = 1000;

/** Returns the credentials of an account, in rows of its directory. */
export function tokenMethods(context: ActorContext): SearchTokenMethods {
  const { name: actor, sql } = context;
  return {
    putToken: (token, isNew) => putToken(context, token, isNew),
    token: async (id) => shown(await tokenRow(context, id)),
    async tokens(search) {
      const rows = await sql.all(
        "SELECT * FROM search_tokens WHERE actor = ? ORDER BY created_ms DESC, id",
        [actor],
      );
      const wanted = search.toLowerCase();
      return rows.map(shown).filter(({ name }) => name.toLowerCase().includes(wanted));
    },
    dropToken: (id) => dropToken(context, id),
    async sealedToken(id) {
      const row = await tokenRow(context, id);
      return {
        id,
        name: String(row["name"]),
        keyId: String(row["key_id"]),
        sealed: String(row["sealed"]),
        legacy: Number(row["legacy"]) === 1,
      };
    },
    ownMaster: () => ownMaster(context),
  };
}

async function tokenRow({ name: actor, sql }: ActorContext, id: string): Promise<SqlRow> {
  const [row] = await sql.all("SELECT * FROM search_tokens WHERE actor = ? AND id = ?", [
    actor,
    id,
  ]);
  if (row !== undefined) return row;
  throw new ApiError("search_token_not_found", {
    message: `token_not_found: no token "${id.slice(0, 64)}"`,
  });
}

async function putToken(
  context: ActorContext,
  { id, name, keyId, sealed, legacy }: StoredToken,
  isNew: boolean,
): Promise<SearchToken> {
  const { name: actor, sql, system } = context;
  const now = system.now();
  if (isNew) await checkRoom(context);
  else await tokenRow(context, id);
  await sql.batch([
    {
      sql: `INSERT INTO search_tokens (actor, id, name, key_id, sealed, legacy, created_ms, modified_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, id) DO UPDATE SET name = excluded.name,
        key_id = excluded.key_id, sealed = excluded.sealed, legacy = excluded.legacy, modified_ms = excluded.modified_ms`,
      params: [actor, id, name, keyId, sealed, legacy ? 1 : 0, now, now],
    },
  ]);
  return shown(await tokenRow(context, id));
}

async function dropToken(context: ActorContext, id: string): Promise<SearchToken> {
  const { name: actor, sql } = context;
  const token = shown(await tokenRow(context, id));
  const user = await userOf(context, id);
  if (user !== null) {
    throw new ApiError("search_token_in_use", {
      message: `token_conflict: the instance "${user}" uses it`,
    });
  }
  await sql.batch([
    { sql: "DELETE FROM search_tokens WHERE actor = ? AND id = ?", params: [actor, id] },
  ]);
  return token;
}

async function ownMaster({ name: actor, sql, system }: ActorContext): Promise<string> {
  const [, selected] = await sql.batch([
    {
      sql: "INSERT INTO search_keys (actor, master) VALUES (?, ?) ON CONFLICT (actor) DO NOTHING",
      params: [actor, toBase64(system.random(32))],
    },
    { sql: "SELECT master FROM search_keys WHERE actor = ?", params: [actor] },
  ]);
  return String(selected?.rows[0]?.["master"]);
}

async function checkRoom({ name: actor, sql }: ActorContext): Promise<void> {
  const [count] = await sql.all("SELECT COUNT(*) AS n FROM search_tokens WHERE actor = ?", [actor]);
  if (Number(count?.["n"] ?? 0) < MAX_TOKENS) return;
  throw new ApiError("search_token_in_use", {
    message: `token_conflict: an account has at most ${MAX_TOKENS} tokens`,
  });
}

/** Returns the name of an instance that uses a token; null for an unused one. */
async function userOf({ name: actor, sql }: ActorContext, id: string): Promise<string | null> {
  const rows = await sql.all("SELECT id, settings FROM search_directory WHERE actor = ?", [actor]);
  const user = rows.find((row) => {
    const settings = JSON.parse(String(row["settings"])) as { readonly token_id?: unknown };
    return settings.token_id === id;
  });
  return user === undefined ? null : String(user["id"]);
}

function shown(row: SqlRow): SearchToken {
  return {
    id: String(row["id"]),
    name: String(row["name"]),
    cf_api_id: String(row["key_id"]),
    legacy: Number(row["legacy"]) === 1,
    enabled: true,
    created_at: formatInstant(Number(row["created_ms"])),
    modified_at: formatInstant(Number(row["modified_ms"])),
  };
}
