/**
 * causey on Deno: {@link denoPlatform} and {@link serve}.
 *
 * @module
 */
import type { Platform } from "../../core/ports.ts";
import { undiciTransport } from "../shared/http/undici-transport.ts";
import { localPlatform, type LocalPlatformOptions } from "../shared/local-platform.ts";
import { clientAddressOnDeno } from "./client-address.ts";
import { denoUpgrade } from "./sockets.ts";

export type { CloseServerOptions, FetchApp, Served, ServeOptions } from "../shared/http/drain.ts";
export { closeServer, serve } from "./serve.ts";

/** Options of {@link denoPlatform}. */
export type DenoPlatformOptions = LocalPlatformOptions;

/**
 * Opens the platform on Deno: everything that the capabilities need. Close it, or pass it to `serve()`, which closes it.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { denoPlatform, serve } from "causey/deno";
 *
 * const platform = await denoPlatform({ dataDir: ".causey" });
 * await serve(platformApi({ platform }), { port: 8787, platform });
 * ```
 */
export async function denoPlatform(options: DenoPlatformOptions = {}): Promise<Platform> {
  const transport = undiciTransport();
  const runtime = {
    name: "deno",
    upgrade: denoUpgrade,
    clientAddress: clientAddressOnDeno,
    transport,
    close: () => transport.close(),
  } as const;
  return localPlatform(runtime, options);
}
