// A server with search on a database: RUNTIME DATABASE DATA_DIR. Uploads documents, prints `answers` with what it answers as
// JSON, and waits to be killed.
import process from "node:process";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform } from "../../core/ports.ts";
import { sameSearch } from "../fakes/search-same.ts";
import { printNow } from "./print-now.ts";

const [runtime = "node", database = "", dataDir = ""] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const cluster = { leaseMs: 1000 };
const platform = await open({ database, dataDir, cluster, chromiumPath: "/nowhere" });
const search = sameSearch(platform);
await search.seed();
printNow(`answers ${JSON.stringify(await search.answers())}`);
await platform.system.sleep(3_600_000);
