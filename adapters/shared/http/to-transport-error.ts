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
  if (otherwise === "unreachable") return TransportError.unreachable(error);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return new TransportError("broken", `The upstream broke off its answer${code}`, { cause: error });
}

/** Blames the proxy for a connection that could not be opened through it: only the proxy was asked for one. */
export function throughProxy(error: TransportError): TransportError {
  const { failure, cause } = error;
  const isOpening = failure === "dns" || failure === "refused" || failure === "timeout";
  return error.reason === "unreachable" && isOpening
    ? TransportError.unreachable(cause, "proxy")
    : error;
}
