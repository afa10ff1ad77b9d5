import type { ActorContext, Statement } from "../../ports.ts";

/** Most types and endpoints that are told apart; further ones are counted together. */
const TOPIC_LIMIT = 1000;
/** The type under which those beyond {@link TOPIC_LIMIT} are counted. */
const OTHERS = "*";

/** The figures of one type at one endpoint, since its first attempt. */
export type TopicFigures = {
  /** `*`: all types that are not told apart. */
  readonly type: string;
  /** Empty beside the type `*`. */
  readonly endpoint_id: string;
  readonly attempts: number;
  readonly delivered: number;
  readonly failed: number;
  /** Deliveries that were given up. */
  readonly dead: number;
  /** Mean time of an attempt in ms. */
  readonly average_ms: number;
};

interface CountedAttempt {
  readonly type: string;
  readonly endpoint: string;
  readonly isDelivered: boolean;
  readonly isDead: boolean;
  readonly durationMs: number;
}

/** Counts attempts by type and endpoint. */
export interface Topics {
  /** The statement that counts one, for the transaction of its result. */
  count(attempt: CountedAttempt): Promise<Statement>;
  list(): Promise<TopicFigures[]>;
}

const ADD = `INSERT INTO webhooks_topics (actor, type, endpoint_id, attempts, delivered, dead, latency_ms)
  VALUES (?, ?, ?, 1, ?, ?, ?) ON CONFLICT (actor, type, endpoint_id) DO UPDATE SET
    attempts = webhooks_topics.attempts + 1, delivered = webhooks_topics.delivered + excluded.delivered,
    dead = webhooks_topics.dead + excluded.dead, latency_ms = webhooks_topics.latency_ms + excluded.latency_ms`;

/** The figures of an account, or of an application. */
export function topics({
  name: actor,
  sql,
}: Pick<ActorContext, "name"> & { readonly sql: Pick<ActorContext["sql"], "all"> }): Topics {
  let known: Set<string> | undefined;

  async function isKnown(key: string): Promise<boolean> {
    if (known === undefined) {
      const rows = await sql.all("SELECT type, endpoint_id FROM webhooks_topics WHERE actor = ?", [
        actor,
      ]);
      known ??= new Set(rows.map((row) => keyOf(String(row["type"]), String(row["endpoint_id"]))));
    }
    if (known.has(key)) return true;
    if (known.size >= TOPIC_LIMIT) return false;
    known.add(key);
    return true;
  }

  return {
    async count({ type, endpoint, isDelivered, isDead, durationMs }) {
      const [one, of] = (await isKnown(keyOf(type, endpoint))) ? [type, endpoint] : [OTHERS, ""];
      const counts = [isDelivered ? 1 : 0, isDead ? 1 : 0, Math.max(0, Math.round(durationMs))];
      return { sql: ADD, params: [actor, one, of, ...counts] };
    },
    async list() {
      const rows = await sql.all(
        "SELECT * FROM webhooks_topics WHERE actor = ? ORDER BY type, endpoint_id LIMIT ?",
        [actor, TOPIC_LIMIT + 1],
      );
      return rows.map((row) => {
        const [attempts, delivered] = [Number(row["attempts"]), Number(row["delivered"])];
        return {
          type: String(row["type"]),
          endpoint_id: String(row["endpoint_id"]),
          attempts,
          delivered,
          failed: attempts - delivered,
          dead: Number(row["dead"]),
          average_ms: Math.round(Number(row["latency_ms"]) / Math.max(1, attempts)),
        };
      });
    },
  };
}

function keyOf(type: string, endpoint: string): string {
  return `${endpoint} ${type}`;
}

/** Forgets the figures of an endpoint that is deleted. */
export function forgetTopics(actor: string, endpoint: string): Statement {
  const sql = "DELETE FROM webhooks_topics WHERE actor = ? AND endpoint_id = ?";
  return { sql, params: [actor, endpoint] };
}
