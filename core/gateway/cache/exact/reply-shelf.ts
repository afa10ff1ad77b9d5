import type { ActorContext, Sql, SqlRow, Statement } from "../../../ports.ts";

/** The table of the answers that a gateway's cache keeps beyond one process; they are sealed, see `stored-replies.ts`. */
export const replySchema: readonly string[] = [
  `CREATE TABLE gateway_replies (
    actor TEXT NOT NULL, id TEXT NOT NULL, sealed BLOB NOT NULL, size BIGINT NOT NULL,
    expires_at BIGINT NOT NULL, used_at BIGINT NOT NULL, PRIMARY KEY (actor, id))`,
  `CREATE INDEX gateway_replies_by_use ON gateway_replies (actor, used_at)`,
  `CREATE INDEX gateway_replies_by_end ON gateway_replies (actor, expires_at)`,
];

export type SealedReply = {
  readonly id: string;
  readonly sealed: Uint8Array;
  /** Unix ms. */
  readonly expiresAt: number;
};

/** The methods of a gateway's actor that concern its kept answers. */
export interface ReplyShelfMethods {
  /** The answer under an id, unless its time is over. */
  findReply(id: string): Promise<SealedReply | null>;
  /**
   * Keeps answers, of one id the last; the expired ones make room, then those that were not used for longest. At most 64 at
   * once.
   */
  keepReplies(replies: readonly SealedReply[], capacity: number): Promise<void>;
}

export interface ReplyShelf {
  readonly methods: ReplyShelfMethods;
  /** Drops what is in memory, after the rows were deleted elsewhere. */
  forget(): void;
}

/** The weight of a row beside its bytes. */
const ROW_OVERHEAD = 512;
/** Milliseconds for which a used answer keeps its place: each move is a write. */
const SETTLED = 60_000;
/** Rows that go for one that comes, so that it never holds the actor for long. */
const VICTIMS = 500;
/** Durable Object storage binds at most 100 values per statement. */
const PARAMETERS = 90;

/** Makes the shelf of one gateway; what arrives while `isOpen` says no is dropped. */
export function replyShelf(
  { name: actor, sql, system }: ActorContext,
  isOpen: () => boolean,
): ReplyShelf {
  /** Bytes of all rows; null until they are counted. */
  let held: number | null = null;
  const findReply = async (id: string): Promise<SealedReply | null> => {
    const now = system.now();
    const [row] = await sql.all(
      `SELECT sealed, expires_at, used_at FROM gateway_replies
        WHERE actor = ? AND id = ? AND expires_at > ?`,
      [actor, id, now],
    );
    if (row === undefined) return null;
    // A clock that was set back must not have an answer stay for good.
    if (Math.abs(now - Number(row["used_at"])) > SETTLED) {
      const used = "UPDATE gateway_replies SET used_at = ? WHERE actor = ? AND id = ?";
      system.waitUntil(sql.batch([{ sql: used, params: [now, actor, id] }], { lazy: true }));
    }
    return { id, sealed: row["sealed"] as Uint8Array, expiresAt: Number(row["expires_at"]) };
  };
  const keepReplies: ReplyShelfMethods["keepReplies"] = async (replies, capacity) => {
    const fresh = [...new Map(replies.map((reply) => [reply.id, reply])).values()].filter(
      (reply) => weightOf(reply) <= capacity,
    );
    if (!isOpen() || fresh.length === 0) return;
    held ??= await heldBytes(sql, actor);
    const now = system.now();
    const excess = held + fresh.reduce((sum, reply) => sum + weightOf(reply), -capacity);
    const ids = fresh.map(({ id }) => id);
    const found = await victims(sql, actor, { ids, now, excess });
    // Many small ones may not make room enough for a large one; then they make room for the next.
    let room = capacity - held + found.bytes;
    const rows: Statement[] = [];
    let bytes = 0;
    for (const reply of fresh) {
      const size = weightOf(reply);
      if (size > room) continue;
      room -= size;
      bytes += size;
      const { id, sealed, expiresAt } = reply;
      rows.push({ sql: insert, params: [actor, id, sealed, size, expiresAt, now] });
    }
    await sql.batch([...deletions(actor, found.ids), ...rows], { lazy: true });
    held += bytes - found.bytes;
  };
  return {
    methods: { findReply, keepReplies },
    forget() {
      held = null;
    },
  };
}

function weightOf({ sealed }: SealedReply): number {
  return sealed.length + ROW_OVERHEAD;
}

const insert = `INSERT INTO gateway_replies (actor, id, sealed, size, expires_at, used_at)
  VALUES (?, ?, ?, ?, ?, ?)`;

async function heldBytes(sql: Sql, actor: string): Promise<number> {
  const [row] = await sql.all("SELECT SUM(size) AS n FROM gateway_replies WHERE actor = ?", [
    actor,
  ]);
  return Number(row?.["n"] ?? 0);
}

/**
 * Chooses the rows that make room for the answers under `ids`: their former ones, expired ones, and as many old ones as
 * `excess` asks for.
 */
async function victims(
  sql: Sql,
  actor: string,
  { ids, now, excess }: { ids: readonly string[]; now: number; excess: number },
): Promise<{ ids: string[]; bytes: number }> {
  const found = new Map<string, number>();
  let bytes = 0;
  const take = (rows: readonly SqlRow[]): void => {
    for (const row of rows) {
      const victim = String(row["id"]);
      if (!found.has(victim)) bytes += Number(row["size"]);
      found.set(victim, Number(row["size"]));
    }
  };
  take(
    await sql.all(
      `SELECT id, size FROM gateway_replies WHERE actor = ? AND id IN (${marks(ids)})
        UNION ALL SELECT * FROM (SELECT id, size FROM gateway_replies
          WHERE actor = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?) AS expired`,
      [actor, ...ids, actor, now, VICTIMS],
    ),
  );
  if (bytes < excess) {
    const oldest = await sql.all(
      "SELECT id, size FROM gateway_replies WHERE actor = ? ORDER BY used_at LIMIT ?",
      [actor, VICTIMS],
    );
    for (const row of oldest) if (bytes < excess) take([row]);
  }
  return { ids: [...found.keys()], bytes };
}

function deletions(actor: string, ids: readonly string[]): Statement[] {
  const statements: Statement[] = [];
  for (let at = 0; at < ids.length; at += PARAMETERS) {
    const some = ids.slice(at, at + PARAMETERS);
    statements.push({
      sql: `DELETE FROM gateway_replies WHERE actor = ? AND id IN (${marks(some)})`,
      params: [actor, ...some],
    });
  }
  return statements;
}

/** A `?` for each of some ids. */
function marks(ids: readonly string[]): string {
  return ids.map(() => "?").join(", ");
}
