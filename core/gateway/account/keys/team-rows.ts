import type { ActorContext, SqlRow, Statement } from "../../../ports.ts";
import { type Team, type TeamSettings, teamSettings } from "./team.ts";

/** The table of an account's teams, and the column that says which keys are whose. */
export const teamSchema: readonly string[] = [
  `CREATE TABLE gateway_teams (
    actor TEXT NOT NULL, id TEXT NOT NULL, settings TEXT NOT NULL,
    created_at BIGINT NOT NULL, modified_at BIGINT NOT NULL, PRIMARY KEY (actor, id))`,
  "ALTER TABLE gateway_keys ADD COLUMN team TEXT",
  "CREATE INDEX gateway_keys_team ON gateway_keys (actor, team)",
  "ALTER TABLE gateway_keys ADD COLUMN declared INTEGER",
  "ALTER TABLE gateway_teams ADD COLUMN declared INTEGER",
];

/** The rows of one account's teams. All are held in memory: an account has at most 1,000, and each request reads one. */
export interface TeamRows {
  all(): Promise<ReadonlyMap<string, Team>>;
  put(team: Team): Promise<void>;
  remove(id: string, together: readonly Statement[]): Promise<void>;
  /** The statements of both. Behind them the rows in memory have to be forgotten. */
  upsert(team: Team): Statement;
  removal(id: string): Statement;
  forget(): void;
}

export function teamRows({ name: actor, sql }: ActorContext): TeamRows {
  let known: Promise<ReadonlyMap<string, Team>> | null = null;
  const read = async (): Promise<ReadonlyMap<string, Team>> => {
    const rows = await sql.all("SELECT * FROM gateway_teams WHERE actor = ? ORDER BY id", [actor]);
    return new Map(rows.map(fromRow).map((team) => [team.id, team]));
  };
  const forget = (): void => {
    known = null;
  };
  const upsert = ({ id, settings, declared, createdAt, modifiedAt }: Team): Statement => ({
    sql: `INSERT INTO gateway_teams (actor, id, settings, declared, created_at, modified_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, id) DO UPDATE SET
        settings = excluded.settings, declared = excluded.declared, modified_at = excluded.modified_at`,
    params: [actor, id, JSON.stringify(settings), Number(declared), createdAt, modifiedAt],
  });
  const removal = (id: string): Statement => ({
    sql: "DELETE FROM gateway_teams WHERE actor = ? AND id = ?",
    params: [actor, id],
  });
  const write = async (statements: readonly Statement[]): Promise<void> => {
    // Also after a failure: the transaction may be stored although its answer was lost.
    await sql.batch(statements).finally(forget);
  };
  return {
    async all() {
      const reading = (known ??= read());
      try {
        return await reading;
      } catch (error) {
        if (known === reading) known = null;
        throw error;
      }
    },
    put: (team) => write([upsert(team)]),
    remove: (id, together) => write([removal(id), ...together]),
    upsert,
    removal,
    forget,
  };
}

function fromRow(row: SqlRow): Team {
  const id = String(row["id"]);
  return {
    id,
    settings: teamSettings(id, JSON.parse(String(row["settings"])) as TeamSettings),
    declared: row["declared"] === 1,
    createdAt: Number(row["created_at"]),
    modifiedAt: Number(row["modified_at"]),
  };
}
