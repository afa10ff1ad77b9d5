import { TransportError } from "../../../core/net/transport-error.ts";

/** Names what failed without the URL's query, which may hold a key. */
export function toTransportError(
  error: unknown,
  signal: AbortSignal | undefined,
  otherwise: "unreachable" | "broken",
): TransportError {
  if (error instanceof TransportError) return error;
  // Some runtimes hand over an error of their own in place of the signal's reason.
  if (signal?.aborted === true && signal.reason instanceof TransportError) return signal.reason;
  if (signal?.aborted === true)
    return new TransportError("aborted", "The request was aborted", { cause: error });
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  const text =
    otherwise === "broken"
      ? "The upstream broke off its answer"
      : "The upstream could not be reached";
  return new TransportError(otherwise, `${text}${code}`, { cause: error });
}
