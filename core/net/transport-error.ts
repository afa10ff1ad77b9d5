/**
 * Why a request got no answer: `refused` = the egress guard said no, `unreachable` = DNS, connect or TLS
 * failed, `late` = no answer began in time, `aborted` = the caller's signal, `broken` = the connection ended mid-answer.
 */
export type TransportErrorReason = "refused" | "unreachable" | "late" | "aborted" | "broken";

/** The one error that `Transport.send` rejects with (and that its body streams end in). */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly reason: TransportErrorReason;

  constructor(reason: TransportErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
