import type { Sqlite3Static } from "@sqlite.org/sqlite-wasm";

/** Functions of SQLite's C interface (https://sqlite.org/c3ref/funclist.html); pointers are positions in the heap. */
export interface SqliteExports {
  malloc(bytes: number): number;
  free(pointer: number): void;
  sqlite3_open_v2(name: number, handle: number, flags: number, vfs: number): number;
  sqlite3_close_v2(db: number): number;
  sqlite3_errmsg(db: number): number;
  sqlite3_get_autocommit(db: number): number;
  sqlite3_exec(db: number, sql: number, callback: number, data: number, error: number): number;
  sqlite3_changes(db: number): number;
  sqlite3_prepare_v2(
    db: number,
    sql: number,
    bytes: number,
    statement: number,
    tail: number,
  ): number;
  sqlite3_finalize(statement: number): number;
  sqlite3_step(statement: number): number;
  sqlite3_reset(statement: number): number;
  sqlite3_clear_bindings(statement: number): number;
  sqlite3_bind_null(statement: number, index: number): number;
  sqlite3_bind_double(statement: number, index: number, value: number): number;
  sqlite3_bind_int64(statement: number, index: number, value: bigint): number;
  sqlite3_bind_text(
    statement: number,
    index: number,
    text: number,
    bytes: number,
    end: number,
  ): number;
  sqlite3_bind_blob(
    statement: number,
    index: number,
    blob: number,
    bytes: number,
    end: number,
  ): number;
  sqlite3_column_count(statement: number): number;
  sqlite3_column_name(statement: number, column: number): number;
  sqlite3_column_type(statement: number, column: number): number;
  sqlite3_column_int64(statement: number, column: number): bigint;
  sqlite3_column_double(statement: number, column: number): number;
  sqlite3_column_text(statement: number, column: number): number;
  sqlite3_column_blob(statement: number, column: number): number;
  sqlite3_column_bytes(statement: number, column: number): number;
}

/** A SQLite of its own. */
export interface SqliteWasm {
  readonly c: SqliteExports;
  /** Its memory; to be asked for again after any call, which may have moved it. */
  readonly heap: () => Uint8Array;
}

const NOT_INSTALLED =
  'memoryPlatform() needs the package "@sqlite.org/sqlite-wasm": npm install @sqlite.org/sqlite-wasm@3.54.1-build1';
const NOT_COMPILED =
  'This runtime cannot read and compile SQLite by itself: pass memoryPlatform({ sqlite }), made by import sqlite from "@sqlite.org/sqlite-wasm/sqlite3.wasm"';

/** Starts the SQLite that the package brings, by the package's own loader. */
export async function loadSqlite(): Promise<SqliteWasm> {
  const { default: init } = await import("@sqlite.org/sqlite-wasm").catch((cause: unknown) => {
    throw new Error(NOT_INSTALLED, { cause });
  });
  // Its types do not know that it takes options.
  const start: (options: object) => Promise<Sqlite3Static> = init;
  const quiet = { print: () => undefined, printErr: () => undefined };
  const { wasm } = await start(quiet).catch((cause: unknown) => {
    throw new Error(NOT_COMPILED, { cause });
  });
  return { c: wasm.exports, heap: () => wasm.heap8u() };
}

const PAGE_BYTES = 65_536;
/** Pages of memory that the library starts with, and those that it can address: as it was linked. */
const FIRST_PAGES = 128;
const MOST_PAGES = 32_768;

/**
 * Starts a SQLite that was compiled beforehand. The package's loader cannot: it compiles little functions while it
 * runs, which is what runtimes that want compiled modules forbid. A database in memory needs next to nothing of a system.
 */
export async function startSqlite(module: object, maxBytes: number): Promise<SqliteWasm> {
  // Not all bundlers make a module of the import: some make a URL, or an instance.
  if (!(module instanceof WebAssembly.Module))
    throw new TypeError("memoryPlatform({ sqlite }) takes a compiled WebAssembly.Module");
  const maximum = Math.min(MOST_PAGES, FIRST_PAGES + Math.ceil(maxBytes / PAGE_BYTES));
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum });
  const { exports } = await WebAssembly.instantiate(module, environment(module, memory));
  // `as`: the module is the library's, which the lockfile pins.
  const c = exports as unknown as SqliteExports & { __wasm_call_ctors(): void };
  c.__wasm_call_ctors();
  return { c, heap: () => new Uint8Array(memory.buffer) };
}

/** "Function not implemented" as libc writes it; system calls answer it negative. */
const ENOSYS = 52;

/** Builds the imports of the library: memory and time. There are no files; every other call is refused. */
function environment(module: WebAssembly.Module, memory: WebAssembly.Memory): WebAssembly.Imports {
  const grow = (bytes: number): number => {
    try {
      memory.grow(Math.ceil((bytes - memory.buffer.byteLength) / PAGE_BYTES));
      return 1;
    } catch {
      return 0;
    }
  };
  const provided: Record<string, (...args: never[]) => unknown> = {
    emscripten_date_now: () => Date.now(),
    emscripten_get_now: () => performance.now(),
    emscripten_get_heap_max: () => MOST_PAGES * PAGE_BYTES,
    // Sizes beyond 2^31 arrive as negative numbers.
    emscripten_resize_heap: (bytes: number) => grow(bytes >>> 0),
    clock_time_get(_clock: number, _precision: bigint, at: number) {
      const nanoseconds = BigInt(Date.now()) * 1_000_000n;
      new DataView(memory.buffer).setBigUint64(at, nanoseconds, true);
      return 0;
    },
  };
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = { env: { memory } };
  for (const { kind, module: space, name } of WebAssembly.Module.imports(module)) {
    if (kind !== "function") continue;
    const refuse = (): number => (name.startsWith("__syscall") ? -ENOSYS : ENOSYS);
    (imports[space] ??= {})[name] = provided[name] ?? refuse;
  }
  return imports;
}
