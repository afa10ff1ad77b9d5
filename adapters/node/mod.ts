/**
 * causey on Node: {@link nodePlatform} and {@link serve}.
 *
 * @module
 */
import type { Platform } from "../../core/ports.ts";
import { undiciTransport } from "../shared/http/undici-transport.ts";
import { localPlatform, type LocalPlatformOptions } from "../shared/local-platform.ts";
import { clientAddressOnNode, receivedByNode } from "./received.ts";
import { nodeUpgrade } from "./sockets.ts";

export type { CloseServerOptions, FetchApp, Served, ServeOptions } from "../shared/http/drain.ts";
export { serve } from "./serve.ts";
export { closeServer } from "./close-server.ts";
export { acceptWebSockets } from "./upgrade.ts";

/** Options of {@link nodePlatform}. */
export type NodePlatformOptions = LocalPlatformOptions;

/**
 * Opens the platform on Node: everything that the capabilities need. Close it, or pass it to `serve()`, which closes it.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { nodePlatform, serve } from "causey/node";
 *
 * const platform = await nodePlatform({ dataDir: ".causey" });
 * await serve(platformApi({ platform }), { port: 8787, platform });
 * ```
 */
export async function nodePlatform(options: NodePlatformOptions = {}): Promise<Platform> {
  const transport = undiciTransport();
  return localPlatform(
    {
      name: "node",
      upgrade: nodeUpgrade,
      transport,
      received: receivedByNode,
      clientAddress: clientAddressOnNode,
      close: () => transport.close(),
    },
    options,
  );
}
