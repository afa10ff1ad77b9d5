/**
 * causey on Deno: {@link denoPlatform} and {@link serve}.
 *
 * @module
 */
export type { FetchApp, Served, ServeOptions } from "../shared/http/drain.ts";
export { denoPlatform, type DenoPlatformOptions } from "./platform.ts";
export { serve } from "./serve.ts";
