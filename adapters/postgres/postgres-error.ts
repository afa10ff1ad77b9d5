import { SqlError, type SqlErrorReason } from "../../core/sql/sql-error.ts";

/** An error of the driver: the server's have a `severity` and a code of five characters. */
interface DriverError {
  readonly code: string;
  readonly message: string;
  readonly severity: string | undefined;
}

/** Codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) that are not simply a wrong statement. */
const reasons: readonly [RegExp, SqlErrorReason][] = [
  [/^23/u, "constraint"],
  // Serialization failure, deadlock, lock not available, cancelled by a deadline.
  [/^(?:40001|40P01|55P03|57014)$/u, "busy"],
  // Disk full, out of memory, read-only, input and output.
  [/^(?:53100|53200|25006|58)/u, "full"],
];
/** How grave an error of the server is that ends its connection, or refuses one. */
const ENDS = /^(?:FATAL|PANIC)$/u;
/** Errors of the driver that concern one statement. */
const OF_STATEMENT = /^(?:MAX_PARAMETERS_EXCEEDED|UNDEFINED_VALUE)$/u;
/** Codes after which the same statement works: another process changed a table, or a pooler gave another connection. */
const STALE_PLAN = /^(?:0A000|26000)$/u;

/** Reads what the driver threw. */
function readError(error: unknown): DriverError {
  const { code, message, severity } = (error ?? {}) as Partial<DriverError>;
  return { code: code ?? "", message: message ?? String(error), severity };
}

/** Whether a failure concerns the connection and not what ran on it. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof SqlError) return false;
  const { code, severity } = readError(error);
  if (severity !== undefined) return ENDS.test(severity);
  return !OF_STATEMENT.test(code);
}

/** Whether a batch that failed so may succeed if it is made once more. */
export function isWorthAnother(error: unknown): boolean {
  const { code } = readError(error);
  return STALE_PLAN.test(code) || code === "40001" || code === "40P01";
}

/** Returns a failure in words that name neither an address nor a login nor a value. */
export function publicReason(error: unknown): string {
  const { code } = readError(error);
  if (code.startsWith("28")) return "it refuses the login";
  if (code === "3D000") return "there is no such database";
  if (code === "53300") return "it has no connection left";
  if (code.startsWith("57P")) return "it is starting or shutting down";
  return code === "" ? "no connection" : `no connection (${code})`;
}

/** Translates what the driver threw; the statement is quoted, its values never are. */
export function sqlErrorOf(error: unknown, sql: string): SqlError {
  if (error instanceof SqlError) return error;
  const { code, message } = readError(error);
  const text = sql.trim().replaceAll(/\s+/gu, " ");
  const quoted = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  // Messages of this class quote the value at their end: 'invalid input syntax for type bigint: "…"'.
  const bare = code.startsWith("22") ? message.replace(/:? ".*$/su, "") : message;
  // Not the error itself as the cause: its details hold values.
  return new SqlError(reasonOf(error), `${bare} in "${quoted}"`, { cause: new Error(bare) });
}

function reasonOf(error: unknown): SqlErrorReason {
  if (isUnreachable(error)) return "busy";
  const { code } = readError(error);
  return reasons.find(([pattern]) => pattern.test(code))?.[1] ?? "invalid";
}
