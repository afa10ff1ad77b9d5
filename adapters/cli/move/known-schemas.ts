import { platformApi } from "../../../core/api.ts";
import { apiOptions } from "../../../core/config/api-options.ts";
import { webConsole } from "../../../core/console/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import type { SchemaStep } from "../../../core/sql/schema-step.ts";
import { schemasOf } from "../../shared/sql/schema-lists.ts";
import { loadRuntime } from "../context/runtime.ts";

/** Returns the schema steps of all kinds of actors that a server of the command has, by the name that counts them. */
export async function knownSchemas(): Promise<ReadonlyMap<string, readonly SchemaStep[]>> {
  const known = new Map<string, readonly SchemaStep[]>();
  const { open } = await loadRuntime();
  const platform = await open({ dataDir: ":memory:", log: () => undefined });
  const actors: Platform["actors"] = {
    ...platform.actors,
    define(kind) {
      for (const { name, steps } of schemasOf(kind)) known.set(name, steps);
      platform.actors.define(kind);
    },
  };
  try {
    const options = apiOptions({}, { ...platform, actors }, { console: webConsole });
    platformApi({ ...options, telemetry: null });
  } finally {
    await platform.close();
  }
  return known;
}
