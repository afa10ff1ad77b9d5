import { ApiError } from "../../http/api-error.ts";
import type { ErrorName } from "../../http/codes.ts";
import {
  noAnswerReason,
  TransportError,
  type TransportErrorReason,
} from "../../net/transport-error.ts";
import type { Transport } from "../../ports.ts";

const failures: Readonly<Record<TransportErrorReason, ErrorName>> = {
  refused: "blocked_url",
  unreachable: "connection_refused",
  late: "load_aborted",
  aborted: "load_aborted",
  broken: "connection_closed",
};

/** The failure of a site that gave no answer. Rethrows the reason of a signal that is aborted. */
export function transportFailure(error: unknown, signal: AbortSignal): unknown {
  signal.throwIfAborted();
  if (error instanceof ApiError || !(error instanceof TransportError)) return error;
  const name = error.failure === "dns" ? "name_not_resolved" : failures[error.reason];
  const message =
    error.reason === "refused"
      ? "The URL's host is not a public address"
      : `The page did not load: ${noAnswerReason(error).slice(0, 100)}`;
  return new ApiError(name, { message, cause: error });
}

/** Time to find out why a site does not answer, in ms. */
const REASON_MS = 3000;

/**
 * Finds out why a browser got no connection: it hides what its proxy says of an https address. Null if the site answers now.
 */
export async function whyUnreached(
  transport: Transport,
  url: string,
  signal: AbortSignal,
): Promise<ApiError | null> {
  try {
    const head = { method: "HEAD", url, headers: [], signal, beginMs: REASON_MS };
    const { body } = await transport.send(head);
    if (body instanceof ReadableStream) void body.cancel().catch(() => undefined);
    return null;
  } catch (error) {
    const known = transportFailure(error, signal);
    return known instanceof ApiError ? known : null;
  }
}
