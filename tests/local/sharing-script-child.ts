// A script at a peer of a data directory, which closes nothing: RUNTIME DATA_DIR. Prints what the lock owner's actor answers.
import type { ActorKind, Platform } from "../../core/ports.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";

const [runtime = "node", dataDir = ""] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });
const kind: ActorKind = { name: "slow", schema: [], start: () => ({ methods: {} }) };
platform.actors.define(kind);
const answer = await platform.actors.get("slow", "one").call("later");
console.log(`answer ${JSON.stringify(answer)}`);
