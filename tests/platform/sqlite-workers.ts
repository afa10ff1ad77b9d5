// workerd compiles no WebAssembly while it runs: the bundler hands over the compiled module.
import sqlite from "@sqlite.org/sqlite-wasm/sqlite3.wasm";
import type { MemoryPlatformOptions } from "../../adapters/memory/platform.ts";

/** See `sqlite.d.ts`. */
export const ownSqlite: MemoryPlatformOptions = { sqlite };

/** See `sqlite.d.ts`. */
export const compiledSqlite: MemoryPlatformOptions = { ...ownSqlite };
