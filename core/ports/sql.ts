/** A value that a statement binds. Booleans, dates and objects are the caller's to encode. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** One result row, keyed by column name. Integers come back as `number`; keep larger ones in TEXT. */
export type SqlRow = Record<string, SqlValue>;

/** One statement with `?` parameters, in the SQL subset that SQLite and PostgreSQL share. */
export interface Statement {
  readonly sql: string;
  readonly params?: readonly SqlValue[];
}

/** The result of one statement of a batch: the rows it returned and the count of rows it changed. */
export interface StatementResult {
  readonly rows: SqlRow[];
  readonly changes: number;
}

/** Options of committing a batch. */
export interface BatchOptions {
  /**
   * A power cut may undo the batch, the death of the process may not: for writes that were promised to no client, so
   * that no commit waits for the disk. A hint. @default false
   */
  readonly lazy?: boolean;
}

/** Options of a query. */
export interface QueryOptions {
  /**
   * The query may take longer than others can wait: it runs beside the event loop where the runtime has threads. The
   * value names whose query it is; owners take turns. A hint. @default at once
   */
  readonly long?: string;
}

/**
 * A transactional SQL database. A failing statement rejects with `SqlError` (`core/sql/sql-error.ts`).
 * Drivers may commit concurrent batches together (group commit); that is invisible here.
 */
export interface Sql {
  readonly dialect: "sqlite" | "postgres";
  /** Why writes fail at present, e.g. on a full disk; null while they do not. It may try one. @default unknown */
  failure?(): string | null | Promise<string | null>;
  /** Runs one query and returns its rows. */
  all(sql: string, params?: readonly SqlValue[], options?: QueryOptions): Promise<SqlRow[]>;
  /** Runs the statements in one transaction, all or nothing; resolves after the commit is durable. */
  batch(statements: readonly Statement[], options?: BatchOptions): Promise<StatementResult[]>;
  close(): Promise<void>;
}
