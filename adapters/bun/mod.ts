/**
 * causey on Bun: {@link bunPlatform} and {@link serve}.
 *
 * @module
 */
export type { FetchApp, Served, ServeOptions } from "../shared/http/drain.ts";
export { bunPlatform, type BunPlatformOptions } from "./platform.ts";
export { acceptWebSockets, type BunHandlers, serve } from "./serve.ts";
