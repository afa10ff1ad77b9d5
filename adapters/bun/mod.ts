/**
 * causey on Bun: {@link bunPlatform} and {@link serve}.
 *
 * @module
 */
import type { Platform } from "../../core/ports.ts";
import { localPlatform, type LocalPlatformOptions } from "../shared/local-platform.ts";
import { bunTransport } from "./fetch-transport.ts";
import { bunUpgrade, clientAddressOnBun } from "./sockets.ts";

export type { CloseServerOptions, FetchApp, Served, ServeOptions } from "../shared/http/drain.ts";
export { acceptWebSockets, type BunHandlers, closeServer, serve } from "./serve.ts";

/** Options of {@link bunPlatform}. */
export type BunPlatformOptions = LocalPlatformOptions;

/**
 * Opens the platform on Bun: everything that the capabilities need. Close it, or pass it to `serve()`, which closes it.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { bunPlatform, serve } from "causey/bun";
 *
 * const platform = await bunPlatform({ dataDir: ".causey" });
 * await serve(platformApi({ platform }), { port: 8787, platform });
 * ```
 */
export async function bunPlatform(options: BunPlatformOptions = {}): Promise<Platform> {
  return localPlatform(
    {
      name: "bun",
      upgrade: bunUpgrade,
      transport: bunTransport(),
      clientAddress: clientAddressOnBun,
    },
    options,
  );
}
