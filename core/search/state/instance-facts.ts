import type { ActorContext, SqlRow, Statement } from "../../ports.ts";
import type { InstanceSettings } from "./instance-settings.ts";

/** An instance's own facts; written through `InstanceState.save`. */
export interface InstanceFacts {
  readonly settings: InstanceSettings;
  readonly nextChunk: number;
  readonly chunks: number;
  /** Counts trainings; names the version of the builtin vectors. 0 = never trained. */
  readonly trainedVersion: number;
  /** Chunks that the last training saw. */
  readonly trainedChunks: number;
  readonly activeMs: number | null;
}

/** The facts of an instance in memory, of which the row is the truth. */
export interface KnownFacts {
  /** Null without such an instance. */
  current(): InstanceFacts | null;
  /** Whether each statement of {@link KnownFacts.save} was followed by {@link KnownFacts.remember}. */
  isSettled(): boolean;
  /** Reads the row again. */
  settle(): Promise<void>;
  /** As `InstanceState.save`. */
  readonly save: (facts: InstanceFacts | null) => Statement;
  readonly remember: (facts: InstanceFacts | null) => void;
}

export async function knownFacts({
  name: actor,
  sql,
}: Pick<ActorContext, "name" | "sql">): Promise<KnownFacts> {
  const read = async (): Promise<InstanceFacts | null> => {
    const [row] = await sql.all("SELECT * FROM search_instances WHERE actor = ?", [actor]);
    return row === undefined ? null : toFacts(row);
  };
  let current = await read();
  let isSettled = true;
  return {
    current: () => current,
    isSettled: () => isSettled,
    async settle() {
      current = await read();
      isSettled = true;
    },
    save(facts) {
      isSettled = false;
      return facts === null
        ? { sql: "DELETE FROM search_instances WHERE actor = ?", params: [actor] }
        : putFacts(actor, facts);
    },
    remember(facts) {
      isSettled = true;
      current = facts;
    },
  };
}

function putFacts(actor: string, facts: InstanceFacts): Statement {
  return {
    sql: `INSERT INTO search_instances (actor, settings, next_chunk, chunks, trained_version, trained_chunks, active_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor) DO UPDATE SET settings = excluded.settings,
      next_chunk = excluded.next_chunk, chunks = excluded.chunks, trained_version = excluded.trained_version,
      trained_chunks = excluded.trained_chunks, active_ms = excluded.active_ms`,
    params: [
      actor,
      JSON.stringify(facts.settings),
      facts.nextChunk,
      facts.chunks,
      facts.trainedVersion,
      facts.trainedChunks,
      facts.activeMs,
    ],
  };
}

function toFacts(row: SqlRow): InstanceFacts {
  return {
    settings: JSON.parse(String(row["settings"])) as InstanceSettings,
    nextChunk: Number(row["next_chunk"]),
    chunks: Number(row["chunks"]),
    trainedVersion: Number(row["trained_version"]),
    trainedChunks: Number(row["trained_chunks"]),
    activeMs: row["active_ms"] === null ? null : Number(row["active_ms"]),
  };
}
