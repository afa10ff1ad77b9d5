import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { MemoryPlatformOptions } from "../../adapters/memory/platform.ts";

/** See `sqlite.d.ts`. */
export const ownSqlite: MemoryPlatformOptions = {};

const { resolve } = createRequire(import.meta.url);

/** See `sqlite.d.ts`. */
export const compiledSqlite: MemoryPlatformOptions = {
  sqlite: new WebAssembly.Module(readFileSync(resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm"))),
};
