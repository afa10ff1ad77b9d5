import type { ActorContext, ActorKind } from "../../ports.ts";
import type { EntrySettings } from "../phase.ts";

/** Settings of an entry or a row, as they were set while the server runs. Plain, because they cross to an actor. */
export type StoredSettings = {
  /** The id of the entry or the row. */
  readonly id: string;
  readonly settings: EntrySettings;
  /** Unix ms. */
  readonly changedAt: number;
  /** The id of the token that set them. */
  readonly changedBy: string;
};

/** All stored settings; `version` changes with them. */
export type SettingsList = {
  readonly version: string;
  readonly all: readonly StoredSettings[];
};

/** The methods of the settings of a platform. */
export interface SettingsMethods {
  /** The settings; null if they are those of `version`. */
  newer(version: string): SettingsList | null;
  set(stored: StoredSettings): Promise<void>;
  /** Whether there were any. */
  remove(id: string): Promise<boolean>;
}

/** The actor that holds the settings for all processes of a platform: one per entry and row of the table at most. */
export const settingsKind: ActorKind = {
  name: "deprecation-settings",
  schema: [
    `CREATE TABLE deprecation_settings (
      actor TEXT NOT NULL, id TEXT NOT NULL, settings TEXT NOT NULL, PRIMARY KEY (actor, id))`,
  ],
  async start({ name, sql, system }: ActorContext) {
    const query = "SELECT id, settings FROM deprecation_settings WHERE actor = ?";
    const rows = await sql.all(query, [name]);
    const all = new Map(
      // `as`: rows of our own.
      rows.map((row) => [String(row["id"]), JSON.parse(String(row["settings"])) as StoredSettings]),
    );
    let version = system.id();
    const methods: SettingsMethods = {
      newer: (known) => (known === version ? null : { version, all: [...all.values()] }),
      async set(stored) {
        const sql1 = `INSERT INTO deprecation_settings (actor, id, settings) VALUES (?, ?, ?)
          ON CONFLICT (actor, id) DO UPDATE SET settings = excluded.settings`;
        await sql.batch([{ sql: sql1, params: [name, stored.id, JSON.stringify(stored)] }]);
        all.set(stored.id, stored);
        version = system.id();
      },
      async remove(id) {
        if (!all.has(id)) return false;
        const gone = "DELETE FROM deprecation_settings WHERE actor = ? AND id = ?";
        await sql.batch([{ sql: gone, params: [name, id] }]);
        all.delete(id);
        version = system.id();
        return true;
      },
    };
    return { methods: { ...methods } };
  },
};
