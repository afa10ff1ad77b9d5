import type { MemoryPlatformOptions } from "../../adapters/memory/platform.ts";

/** See `sqlite.d.ts`. */
export const ownSqlite: MemoryPlatformOptions = {};
