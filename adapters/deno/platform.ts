import type { Platform } from "../../core/ports.ts";
import { fetchTransport } from "../shared/fetch-transport.ts";
import { localPlatform, type LocalPlatformOptions } from "../shared/local-platform.ts";
import { denoUpgrade } from "./sockets.ts";

/** Options of {@link denoPlatform}. */
export type DenoPlatformOptions = LocalPlatformOptions;

/** Opens everything that the capabilities need on Deno; close it, or let `serve()` do so. */
export async function denoPlatform(options: DenoPlatformOptions = {}): Promise<Platform> {
  return localPlatform(
    { name: "deno", upgrade: denoUpgrade, transport: fetchTransport() },
    options,
  );
}
