/**
 * causey: one platform API on any JavaScript runtime.
 *
 * @module
 */

export { platformApi, type PlatformApi } from "./api.ts";
export type { PlatformApiOptions } from "./config/platform-api-options.ts";
export { apiOptions, type ImportedPages } from "./config/api-options.ts";
export { parseConfig } from "./config/parse-config.ts";
export type { Config } from "./config/config.ts";
export { defineAgent, getAgentByName } from "./agents/mod.ts";
export { ApiError, type ApiErrorOptions } from "./http/api-error.ts";
export { otlpSettings, type OtlpSettings } from "./signals/otlp/otlp-settings.ts";
export type * from "./ports.ts";
