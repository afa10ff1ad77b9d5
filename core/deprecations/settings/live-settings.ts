import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Platform } from "../../ports.ts";
import { type EntrySettings, type PerEntry, schedule } from "../phase.ts";
import type { DeprecationEntry } from "../table/entry.ts";
import {
  type SettingsList,
  settingsKind,
  type SettingsMethods,
  type StoredSettings,
} from "./settings-actor.ts";

/** Settings that change while servers run. */
export interface LiveSettings {
  /** The present settings: those of the file, and above them the stored ones. */
  readonly present: () => Promise<PerEntry<EntrySettings>>;
  /** The settings there would be with others for one entry or row; null takes its stored ones back. */
  readonly changed: (
    id: string,
    settings: EntrySettings | null,
  ) => Promise<PerEntry<EntrySettings>>;
  readonly stored: () => Promise<readonly StoredSettings[]>;
  readonly store: Pick<ActorClient<SettingsMethods>, "set" | "remove">;
}

/** Makes the settings of a platform, which all its processes share. */
export function liveSettings(
  { actors }: Pick<Platform, "actors">,
  table: readonly DeprecationEntry[],
  file: PerEntry<EntrySettings>,
): LiveSettings {
  // Mistakes of the file end the start.
  schedule(table, { settings: file });
  actors.define(settingsKind);
  const actor = actorClient<SettingsMethods>(actors.get(settingsKind.name, "all"));
  const known = new Set(table.flatMap(({ id, row }) => [id, row]));
  const merged = (all: readonly StoredSettings[]): PerEntry<EntrySettings> => ({
    ...file,
    // An entry of an earlier version may be gone.
    ...Object.fromEntries(
      all
        .filter(({ id }) => known.has(id))
        .map(({ id, settings }) => [id, { ...file[id], ...settings }]),
    ),
  });
  let list: SettingsList = { version: "", all: [] };
  let present: PerEntry<EntrySettings> = file;
  const read = async (): Promise<readonly StoredSettings[]> => {
    const newer = await actor.newer(list.version);
    if (newer !== null) {
      list = newer;
      present = merged(newer.all);
    }
    return list.all;
  };
  return {
    present: async () => {
      await read();
      return present;
    },
    changed: async (id, settings) => {
      const others = (await read()).filter((one) => one.id !== id);
      const own = settings === null ? [] : [{ id, settings, changedAt: 0, changedBy: "" }];
      return merged([...others, ...own]);
    },
    stored: read,
    store: actor,
  };
}
