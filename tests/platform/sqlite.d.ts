import type { MemoryPlatformOptions } from "../../adapters/memory/platform.ts";

/** The SQLite of `memoryPlatform()` where the runtime needs a compiled one: the import `#sqlite`. */
export const ownSqlite: MemoryPlatformOptions;

/** SQLite compiled once for all platforms of a file: each that compiles its own takes a tenth of a second of CPU. */
export const compiledSqlite: MemoryPlatformOptions;
