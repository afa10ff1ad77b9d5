import type { SqlRow, SqlValue } from "../../core/ports.ts";
import type { PreparedStatement, SqliteConnection } from "../shared/sqlite/sqlite-library.ts";
import type { SqliteWasm } from "./sqlite-wasm.ts";

// Result codes and types of columns: https://sqlite.org/c3ref/constlist.html
const ROW = 100;
const DONE = 101;
const NOMEM = 7;
const MISUSE = 21;
const INTEGER = 1;
const FLOAT = 2;
const TEXT = 3;
const BLOB = 4;
/** READWRITE, CREATE and MEMORY. */
const OPEN_FLAGS = 0x86;
/** Without it a text would lose a byte order mark at its begin. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Makes SQLite copy a bound value. */
const TRANSIENT = -1;

/** An open database and the library that holds it. */
interface Open extends SqliteWasm {
  readonly db: number;
}

/** Opens a database in the library's memory; what it holds goes with it. */
export function openWasmSqlite(sqlite: SqliteWasm, maxBytes: number): SqliteConnection {
  let open: Open | undefined = { ...sqlite, db: openDatabase(sqlite) };
  const current = (): Open => {
    if (open === undefined) throw failure(MISUSE, "The database is closed");
    return open;
  };
  const connection: SqliteConnection = {
    get isOpen() {
      return open !== undefined;
    },
    get isTransaction() {
      return open !== undefined && open.c.sqlite3_get_autocommit(open.db) === 0;
    },
    exec: (sql) => exec(current(), sql),
    prepare: (sql) => preparedStatement(current, sql),
    close() {
      if (open !== undefined) open.c.sqlite3_close_v2(open.db);
      // The collector frees the library with all of its memory.
      open = undefined;
    },
  };
  const [size] = connection.prepare("PRAGMA page_size").all();
  const pages = Math.max(1, Math.floor(maxBytes / Number(size?.["page_size"])));
  connection.exec(`PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
    PRAGMA max_page_count = ${pages}`);
  return connection;
}

function openDatabase(sqlite: SqliteWasm): number {
  return placing(sqlite, 4, (handle) =>
    texting(sqlite, ":memory:", (name) => {
      const code = sqlite.c.sqlite3_open_v2(name, handle, OPEN_FLAGS, 0);
      if (code !== 0) throw failure(code, "The database could not be opened");
      return pointerAt(sqlite, handle);
    }),
  );
}

function exec(open: Open, sql: string): void {
  texting(open, sql, (text) => check(open, open.c.sqlite3_exec(open.db, text, 0, 0, 0)));
}

function preparedStatement(current: () => Open, sql: string): PreparedStatement {
  const open = current();
  const { c } = open;
  const statement = placing(open, 4, (handle) =>
    texting(open, sql, (text) => {
      check(open, c.sqlite3_prepare_v2(open.db, text, -1, handle, 0));
      return pointerAt(open, handle);
    }),
  );
  if (statement === 0) throw failure(MISUSE, "There is no statement");
  const run = <T>(params: readonly SqlValue[], work: (now: Open) => T): T => {
    const now = current();
    try {
      for (const [index, value] of params.entries())
        check(now, bind(now, statement, index + 1, value));
      return work(now);
    } finally {
      c.sqlite3_reset(statement);
      c.sqlite3_clear_bindings(statement);
    }
  };
  return {
    columns: () => columnNames(current(), statement),
    all: (...params) =>
      run(params, (now) => {
        const rows: SqlRow[] = [];
        let names: string[] | undefined;
        while (step(now, statement)) {
          names ??= columnNames(now, statement);
          rows.push(
            Object.fromEntries(names.map((name, at) => [name, column(now, statement, at)])),
          );
        }
        return rows;
      }),
    run: (...params) =>
      run(params, (now) => {
        while (step(now, statement));
        return { changes: c.sqlite3_changes(now.db) };
      }),
    close() {
      c.sqlite3_finalize(statement);
    },
  };
}

/** Whether there is a row. */
function step(open: Open, statement: number): boolean {
  const code = open.c.sqlite3_step(statement);
  if (code !== ROW && code !== DONE) check(open, code);
  return code === ROW;
}

/** Numbers are bound as `node:sqlite` binds them: as floating point, which a column of whole numbers takes back. */
function bind(open: Open, statement: number, index: number, value: SqlValue): number {
  const { c } = open;
  if (value === null) return c.sqlite3_bind_null(statement, index);
  if (typeof value === "number") return c.sqlite3_bind_double(statement, index, value);
  if (typeof value === "bigint") return c.sqlite3_bind_int64(statement, index, value);
  const isText = typeof value === "string";
  const bytes = isText ? new TextEncoder().encode(value) : value;
  // Never a null pointer, which would be NULL.
  return placing(open, bytes.length + 1, (at) => {
    open.heap().set(bytes, at);
    return isText
      ? c.sqlite3_bind_text(statement, index, at, bytes.length, TRANSIENT)
      : c.sqlite3_bind_blob(statement, index, at, bytes.length, TRANSIENT);
  });
}

function column({ c, heap }: Open, statement: number, at: number): SqlValue {
  switch (c.sqlite3_column_type(statement, at)) {
    case INTEGER:
      return Number(c.sqlite3_column_int64(statement, at));
    case FLOAT:
      return c.sqlite3_column_double(statement, at);
    case TEXT: {
      const start = c.sqlite3_column_text(statement, at);
      const end = start + c.sqlite3_column_bytes(statement, at);
      return utf8.decode(heap().subarray(start, end));
    }
    case BLOB: {
      const start = c.sqlite3_column_blob(statement, at);
      return heap().slice(start, start + c.sqlite3_column_bytes(statement, at));
    }
    default:
      return null;
  }
}

function columnNames(open: Open, statement: number): string[] {
  const count = open.c.sqlite3_column_count(statement);
  return Array.from({ length: count }, (_, at) =>
    textAt(open, open.c.sqlite3_column_name(statement, at)),
  );
}

function check(open: Open, code: number): void {
  if (code !== 0) throw failure(code, textAt(open, open.c.sqlite3_errmsg(open.db)));
}

/** Makes an error as `node:sqlite` throws it: with the result code as `errcode`. */
function failure(code: number, message: string): Error {
  return Object.assign(new Error(message), { errcode: code });
}

/** Runs work with some bytes of the library's memory. */
function placing<T>({ c }: SqliteWasm, bytes: number, work: (at: number) => T): T {
  const at = c.malloc(bytes);
  if (at === 0) throw failure(NOMEM, "out of memory");
  try {
    return work(at);
  } finally {
    c.free(at);
  }
}

/** Runs work with a text that ends with a zero byte. */
function texting<T>(sqlite: SqliteWasm, text: string, work: (at: number) => T): T {
  const bytes = new TextEncoder().encode(`${text}\0`);
  return placing(sqlite, bytes.length, (at) => {
    sqlite.heap().set(bytes, at);
    return work(at);
  });
}

function pointerAt({ heap }: SqliteWasm, at: number): number {
  return new DataView(heap().buffer).getUint32(at, true);
}

/** Returns the text at a position, up to its zero byte. */
function textAt({ heap }: SqliteWasm, at: number): string {
  const bytes = heap();
  return utf8.decode(bytes.subarray(at, bytes.indexOf(0, at)));
}
