import { SqlError } from "../sql/sql-error.ts";
import { didYouMean } from "../text/nearest.ts";
import { errorKind, type ErrorName } from "./codes.ts";

/** Options of {@link ApiError} beside its name. */
export interface ApiErrorOptions {
  /** Says what is wrong and what to do. @default the message of the table in `codes.ts` */
  readonly message?: string;
  /** Replaces the status of the table, e.g. for a compatibility option. */
  readonly status?: number;
  /** Extra response headers, e.g. `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Extra members of the error object in the body (`errors[0]`). */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Extra members at the top level of the body. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
  /** The reason for the log, where it may say more than callers learn. @default the message */
  readonly reason?: string;
}

/** The plain form of an {@link ApiError}, for crossing an actor boundary. */
export interface ApiErrorData extends Omit<ApiErrorOptions, "cause"> {
  readonly name: ErrorName;
}

/**
 * A failure that is reported to the caller, by its name in the table of `core/http/codes.ts`.
 *
 * @example
 * ```ts
 * import { ApiError } from "causey";
 *
 * new ApiError("invalid_request", { message: "`limit` is at most 100" }).status; // → 400
 * ```
 */
export class ApiError extends Error {
  readonly kind: ErrorName;
  readonly status: number;
  readonly code: number;
  readonly options: ApiErrorOptions;

  constructor(kind: ErrorName, options: ApiErrorOptions = {}) {
    const { message, status, code } = errorFacts(kind, options);
    super(message, { cause: options.cause });
    this.name = "ApiError";
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.options = options;
  }

  /** The plain form; `ApiError.from` restores it. */
  toData(): ApiErrorData {
    const { cause: _, ...rest } = this.options;
    return { ...rest, name: this.kind, message: this.message };
  }

  /** Restores an error from its plain form. */
  static from(data: ApiErrorData): ApiError {
    const { name, ...options } = data;
    return new ApiError(name, options);
  }
}

/** The parts of an {@link ApiError} that its answer is made of. */
export type ErrorFacts = Pick<ApiError, "kind" | "message" | "status" | "code" | "options">;

/** Returns the facts alone, for answers that are expected: they are not thrown, so they need no stack, which costs the most. */
export function errorFacts(kind: ErrorName, options: ApiErrorOptions): ErrorFacts {
  const row = errorKind(kind);
  const { message = row.message, status = row.status } = options;
  return { kind, message, status, code: row.code, options };
}

/** The 400 for a request that says what cannot be. */
export function invalidRequest(message: string): ApiError {
  return new ApiError("invalid_request", { message });
}

/** The failure of a program that passes options that cannot be. */
export function invalidOptions(message: string): ApiError {
  return new ApiError("invalid_options", { message });
}

/** The 409 for what contradicts something that exists. */
export function conflict(message: string): ApiError {
  return new ApiError("conflict", { message });
}

/** Characters of a caller's id that are repeated. */
const SHOWN = 64;

/** The 404 for an id that nothing has: names it, and the one of the known ids that was probably meant. */
export function notFound(kind: string, id: string, known: readonly string[] = []): ApiError {
  const shown = id.slice(0, SHOWN);
  return new ApiError("not_found", {
    message: `There is no ${kind} "${shown}"${didYouMean(shown, known)}`,
  });
}

/**
 * The failure to answer with when the database refused a write that may succeed later: the disk is full, another
 * process holds the lock, or has what this one would write; or it is not known whether the write was committed. Null for
 * any other error.
 */
export function storageFailure(error: unknown): ApiError | null {
  if (!(error instanceof SqlError)) return null;
  if (error.reason === "unknown")
    return new ApiError("outcome_unknown", {
      headers: { "x-should-retry": "false" },
      cause: error,
    });
  if (!["full", "busy", "fenced"].includes(error.reason)) return null;
  const kind = error.reason === "full" ? "storage_full" : "unavailable";
  return new ApiError(kind, { headers: { "retry-after": "1" }, cause: error });
}
