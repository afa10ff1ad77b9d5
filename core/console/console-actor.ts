import { fromBase64, toBase64 } from "../crypto/encoding.ts";
import type { ActorKind } from "../ports.ts";

/** Codes that wait to be used; a start makes one. */
const CODES = 100;

/** What sessions of the console are sealed with, and the codes of links that log in once. */
export const consoleKind: ActorKind = {
  name: "console",
  schema: [
    "CREATE TABLE console_keys (actor TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (actor))",
    `CREATE TABLE console_codes (
      actor TEXT NOT NULL, hash TEXT NOT NULL, sealed TEXT NOT NULL, expires INTEGER NOT NULL,
      PRIMARY KEY (actor, hash))`,
  ],
  async start({ name: actor, sql, system }) {
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
        async addCode(hash: string, sealed: string, expires: number) {
          await sql.batch([
            {
              sql: "DELETE FROM console_codes WHERE actor = ? AND expires < ?",
              params: [actor, system.now()],
            },
            {
              sql: `DELETE FROM console_codes WHERE actor = ? AND hash NOT IN
                (SELECT hash FROM console_codes WHERE actor = ? ORDER BY expires DESC LIMIT ${CODES})`,
              params: [actor, actor],
            },
            {
              sql: "INSERT INTO console_codes (actor, hash, sealed, expires) VALUES (?, ?, ?, ?)",
              params: [actor, hash, sealed, expires],
            },
          ]);
        },
        /** What a code stands for, once. */
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
