// A host program in the runtime it runs in: RUNTIME UPSTREAM_URL.
import type { FetchApp, Served, ServeOptions } from "../../adapters/shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform } from "../../core/ports.ts";
import { aiBindingApp } from "./ai-binding-app.ts";

interface Adapter {
  serve(app: FetchApp, options: ServeOptions): Promise<Served>;
  [open: string]: unknown;
}

const [runtime = "node", upstreamUrl = ""] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Adapter;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir: ":memory:" });
const { url } = await adapter.serve(aiBindingApp(platform, upstreamUrl), { port: 0, platform });
console.log(`listening ${url}`);
