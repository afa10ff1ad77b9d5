import type { Platform } from "../../core/ports.ts";
import { bunTransport } from "./fetch-transport.ts";
import { localPlatform, type LocalPlatformOptions } from "../shared/local-platform.ts";
import { bunUpgrade } from "./sockets.ts";

/** Options of {@link bunPlatform}. */
export type BunPlatformOptions = LocalPlatformOptions;

/** Opens everything that the capabilities need on Bun; close it, or let `serve()` do so. */
export async function bunPlatform(options: BunPlatformOptions = {}): Promise<Platform> {
  return localPlatform({ name: "bun", upgrade: bunUpgrade, transport: bunTransport() }, options);
}
