/**
 * causey on Node: {@link nodePlatform} and {@link serve}.
 *
 * @module
 */
export type { FetchApp, Served, ServeOptions } from "../shared/http/drain.ts";
export { nodePlatform, type NodePlatformOptions } from "./platform.ts";
export { serve } from "./serve.ts";
export { acceptWebSockets } from "./upgrade.ts";
