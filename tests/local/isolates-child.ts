// Reads a file, closes its platform, prints `closed`, and has nothing else to live for: DATA_DIR RUNTIME.
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform } from "../../core/ports.ts";
import { fileReader } from "../../core/search/files/mod.ts";
import { printNow } from "./print-now.ts";

const [dataDir = "", runtime = "node"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });
const bytes = new TextEncoder().encode(String.raw`{\rtf1 Hello}`);
const file = { key: "a.rtf", contentType: "", bytes };
await platform.background.run(fileReader, file, new AbortController().signal);
await platform.close();
printNow("closed");
