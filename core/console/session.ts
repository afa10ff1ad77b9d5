import * as v from "valibot";
import { sha256Hex } from "../crypto/digest.ts";
import { fromBase64, toBase64, toBase64Url } from "../crypto/encoding.ts";
import { rawSealingKey, seal, type SealingKey, unseal } from "../crypto/seal.ts";
import { type HiddenText, secret } from "../crypto/secret.ts";
import { ApiError } from "../http/api-error.ts";
import { publicUrl } from "../http/mount-path.ts";
import type { ActorContext, ActorKind, Plain, Platform } from "../ports.ts";

/** Milliseconds of a session, and of a link's code. */
const SESSION_MS = 12 * 3_600_000;
const CODE_MS = 3_600_000;
/** Name of the cookie. */
const COOKIE = "causey_console";
const CONTEXT = "console-session";

/** The user of the console: the token of all its requests. */
export interface ConsoleSession {
  /** A hash of the session. Null where the host authenticates. */
  readonly id: string | null;
  /** Null where the host authenticates. */
  readonly token: HiddenText | null;
  readonly readOnly: boolean;
  /** Unix ms. */
  readonly expires: number;
}

/**
 * Sessions of a browser. The cookie holds the API token, sealed with a key of the database: neither alone is worth
 * anything, every process can open it, and a revoked token ends its sessions at once. So does a logout, also that of a
 * copied cookie.
 */
export interface ConsoleSessions {
  /** The value of `Set-Cookie` for a new session of the console at a path. */
  open(opening: SessionOpening): Promise<string>;
  read(request: Request): Promise<ConsoleSession | null>;
  /** Ends a session for good. */
  end(session: ConsoleSession): Promise<void>;
  /** The value of `Set-Cookie` that takes the cookie of the console at a path away. */
  closing(path: string, request: Request): string;
  /**
   * A code that opens one session with this token, once, within an hour. The newest codes of a token (by its id) replace
   * the older ones of the same token, never another's.
   */
  newCode(token: string, tokenId: string): Promise<string>;
  /** The token of a code; null when it was used, is old or was never made. */
  takeCode(code: string): Promise<HiddenText | null>;
}

export interface SessionOpening extends Pick<ConsoleSession, "readOnly"> {
  readonly token: string;
  /** The path at which the console is mounted. */
  readonly path: string;
  readonly request: Request;
}

const payload = v.object({ token: v.string(), readOnly: v.boolean(), expires: v.number() });

export function sessions({ actors, system }: Platform): ConsoleSessions {
  actors.define(consoleKind);
  const call = (method: string, ...args: readonly Plain[]): Promise<Plain> =>
    actors.get(consoleKind.name, "all").call(method, ...args);
  let loading: Promise<SealingKey> | undefined;
  const key = (): Promise<SealingKey> => {
    loading ??= call("key").then((text) => {
      const bytes = typeof text === "string" ? fromBase64(text) : null;
      if (bytes?.length !== 32) throw new ApiError("internal");
      return rawSealingKey(bytes);
    });
    loading.catch(() => (loading = undefined));
    return loading;
  };
  const sealed = async (text: string): Promise<string> =>
    seal(await key(), text, CONTEXT, system.random(12));
  return {
    async open({ token, readOnly, path, request }) {
      const session = { token, readOnly, expires: system.now() + SESSION_MS };
      const value = encodeURIComponent(await sealed(JSON.stringify(session)));
      return `${COOKIE}=${value}; Max-Age=${SESSION_MS / 1000}${attributes(path, request)}`;
    },
    async read(request) {
      const value = cookieOf(request);
      const text = value === null ? null : await unseal(await key(), value, CONTEXT);
      if (text === null) return null;
      const { success, output } = v.safeParse(payload, JSON.parse(text));
      if (!success || output.expires < system.now()) return null;
      // A hash of the sealed text: the same session can be written as several cookies.
      const id = await sha256Hex(text);
      if ((await call("isEnded", id)) === true) return null;
      return { ...output, id, token: secret(output.token) };
    },
    async end({ id, expires }) {
      if (id !== null) await call("end", id, expires);
    },
    closing: (path, request) => `${COOKIE}=; Max-Age=0${attributes(path, request)}`,
    async newCode(token, tokenId) {
      const code = toBase64Url(system.random(24));
      const expires = system.now() + CODE_MS;
      const isKept = await call(
        "addCode",
        await sha256Hex(code),
        await sealed(token),
        expires,
        tokenId,
      );
      if (isKept === true) return code;
      throw new ApiError("rate_limited", {
        message: `${CODES} login links wait to be used: use them, wait an hour, or log in with the token`,
      });
    },
    async takeCode(code) {
      const found = await call("takeCode", await sha256Hex(code));
      const token = typeof found === "string" ? await unseal(await key(), found, CONTEXT) : null;
      return token === null ? null : secret(token);
    },
  };
}

/** No script reads it, no other site sends it, and only the console gets it. */
function attributes(path: string, request: Request): string {
  const secure = publicUrl(request).startsWith("https:") ? "; Secure" : "";
  return `; Path=${path}; HttpOnly; SameSite=Strict${secure}`;
}

function cookieOf({ headers }: Request): string | null {
  const header = headers.get("cookie") ?? "";
  const found = header.split(";").find((pair) => pair.trim().startsWith(`${COOKIE}=`));
  try {
    return found === undefined ? null : decodeURIComponent(found.trim().slice(COOKIE.length + 1));
  } catch {
    return null;
  }
}

/** Codes of one token that wait to be used, and of all; a start makes one. */
const CODES_OF_TOKEN = 10;
const CODES = 1000;

/** The key that seals the console's sessions, and the codes of links that log in once. */
const consoleKind: ActorKind = {
  name: "console",
  schema: [
    "CREATE TABLE console_keys (actor TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (actor))",
    `CREATE TABLE console_codes (
      actor TEXT NOT NULL, hash TEXT NOT NULL, sealed TEXT NOT NULL, expires INTEGER NOT NULL,
      PRIMARY KEY (actor, hash))`,
    "ALTER TABLE console_codes ADD COLUMN token_id TEXT NOT NULL DEFAULT ''",
    {
      additive: `CREATE TABLE console_ended (
        actor TEXT NOT NULL, id TEXT NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY (actor, id))`,
    },
  ],
  interleaved: ["isEnded"],
  async start(context) {
    const { name: actor, sql, system } = context;
    const [row] = await sql.all("SELECT key FROM console_keys WHERE actor = ?", [actor]);
    let key = row === undefined ? null : String(row["key"]);
    if (key === null || fromBase64(key) === null) {
      key = toBase64(system.random(32));
      const statement =
        "INSERT INTO console_keys (actor, key) VALUES (?, ?) ON CONFLICT (actor) DO UPDATE SET key = excluded.key";
      await sql.batch([{ sql: statement, params: [actor, key] }]);
    }
    const kept = key;
    return {
      methods: {
        key: () => kept,
        async isEnded(id: string) {
          const text = "SELECT id FROM console_ended WHERE actor = ? AND id = ?";
          return (await sql.all(text, [actor, id])).length > 0;
        },
        async end(id: string, expires: number) {
          const old = "DELETE FROM console_ended WHERE actor = ? AND expires < ?";
          const add =
            "INSERT INTO console_ended (actor, id, expires) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
          await sql.batch([
            { sql: old, params: [actor, system.now()] },
            { sql: add, params: [actor, id, expires] },
          ]);
        },
        addCode: (hash: string, sealed: string, expires: number, tokenId: string) =>
          addCode({ hash, sealed, expires, tokenId }, context),
        /** Returns the session behind a code, and deletes the code. */
        async takeCode(hash: string) {
          const where = "FROM console_codes WHERE actor = ? AND hash = ?";
          const [found] = await sql.all(`SELECT sealed, expires ${where}`, [actor, hash]);
          await sql.batch([{ sql: `DELETE ${where}`, params: [actor, hash] }]);
          const isGood = found !== undefined && Number(found["expires"]) >= system.now();
          return isGood ? String(found["sealed"]) : null;
        },
      },
    };
  },
};

interface LoginCode {
  readonly hash: string;
  readonly sealed: string;
  readonly expires: number;
  readonly tokenId: string;
}

/** Keeps a code in place of the oldest of its token; false when there are too many of all tokens. */
async function addCode(
  { hash, sealed, expires, tokenId }: LoginCode,
  { name: actor, sql, system }: ActorContext,
): Promise<boolean> {
  await sql.batch([
    {
      sql: "DELETE FROM console_codes WHERE actor = ? AND expires < ?",
      params: [actor, system.now()],
    },
    {
      sql: `DELETE FROM console_codes WHERE actor = ? AND token_id = ? AND hash NOT IN
        (SELECT hash FROM console_codes WHERE actor = ? AND token_id = ?
          ORDER BY expires DESC LIMIT ${CODES_OF_TOKEN - 1})`,
      params: [actor, tokenId, actor, tokenId],
    },
  ]);
  const [row] = await sql.all(
    `SELECT COUNT(*) AS codes, MAX(CASE WHEN token_id = ? THEN expires ELSE 0 END) AS newest
      FROM console_codes WHERE actor = ?`,
    [tokenId, actor],
  );
  if (Number(row?.["codes"]) >= CODES) return false;
  // Sessions of one millisecond have an order, too.
  const later = Math.max(expires, Number(row?.["newest"] ?? 0) + 1);
  await sql.batch([
    {
      sql: "INSERT INTO console_codes (actor, hash, sealed, expires, token_id) VALUES (?, ?, ?, ?, ?)",
      params: [actor, hash, sealed, later, tokenId],
    },
  ]);
  return true;
}
