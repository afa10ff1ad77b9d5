import type { MemoryPlatformOptions } from "../../adapters/memory/platform.ts";

/** The SQLite of `memoryPlatform()` where the runtime needs a compiled one: the import `#sqlite`. */
export const ownSqlite: MemoryPlatformOptions;
