import {
  failureText,
  failureWords,
  networkFailureOf,
  type NetworkFailure,
} from "./network-failure.ts";

/**
 * Why a request got no answer: `refused` = the egress guard said no, `unreachable` = DNS, connect or TLS
 * failed, `late` = no answer began in time, `aborted` = the caller's signal, `broken` = the connection ended mid-answer.
 */
export type TransportErrorReason = "refused" | "unreachable" | "late" | "aborted" | "broken";

/** Options of a {@link TransportError} beside its reason and message. */
export interface TransportErrorOptions extends ErrorOptions {
  /** @default the class of its cause */
  readonly failure?: NetworkFailure;
}

/** The one error that `Transport.send` rejects with (and that its body streams end in). */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly reason: TransportErrorReason;
  /** The step of the connection that failed; null where the network did not. */
  readonly failure: NetworkFailure | null;

  constructor(reason: TransportErrorReason, message: string, options?: TransportErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.failure = options?.failure ?? failureOf(reason, options?.cause);
  }

  /** The error for what a runtime threw before an answer began: its class in words, and those of the runtime. */
  static unreachable(cause: unknown, failure: NetworkFailure | null = null): TransportError {
    const found = failure ?? networkFailureOf(cause) ?? "unreachable";
    const text = failureText(cause);
    const message = `${failureWords[found].detail}${text === "" ? "" : `: ${text}`}`;
    return new TransportError("unreachable", message, { cause, failure: found });
  }
}

/** The error of an answer that this program ended. */
export function endedOnPurpose(): TransportError {
  return new TransportError("broken", "The answer was broken off on purpose");
}

/** Says in words for a caller why a request got no answer: no text of the runtime, which may name addresses. */
export function noAnswerReason(error: unknown): string {
  if (!(error instanceof TransportError)) return failureWords.unreachable.detail;
  return error.failure === null ? error.message : failureWords[error.failure].detail;
}

function failureOf(reason: TransportErrorReason, cause: unknown): NetworkFailure | null {
  if (reason === "late") return "timeout";
  if (reason === "unreachable") return networkFailureOf(cause) ?? "unreachable";
  return reason === "broken" ? networkFailureOf(cause) : null;
}
