import type { Platform } from "../../../core/ports.ts";
import type { FetchApp, Served, ServeOptions } from "../../shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../shared/local-platform.ts";

/** The adapter of the runtime that the command finds itself on. */
export interface Runtime {
  /** For people, e.g. `Node 24.21.0`. */
  readonly name: string;
  readonly open: (options: LocalPlatformOptions) => Promise<Platform>;
  readonly serve: (app: FetchApp, options: ServeOptions) => Promise<Served>;
}

/** Loads one adapter: the others' modules do not even parse everywhere. */
export async function loadRuntime(): Promise<Runtime> {
  if (process.versions["bun"] !== undefined) {
    const { bunPlatform, serve } = await import("../../bun/mod.ts");
    return { name: `Bun ${process.versions["bun"]}`, open: bunPlatform, serve };
  }
  if (process.versions["deno"] !== undefined) {
    const { denoPlatform, serve } = await import("../../deno/mod.ts");
    return { name: `Deno ${process.versions["deno"]}`, open: denoPlatform, serve };
  }
  const { nodePlatform, serve } = await import("../../node/mod.ts");
  return { name: `Node ${process.versions.node}`, open: nodePlatform, serve };
}
