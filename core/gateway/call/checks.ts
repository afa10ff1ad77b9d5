import { ApiError } from "../../http/api-error.ts";
import type { InboundResponse } from "../../ports.ts";
import type { Call, Step } from "./call.ts";
import type { DlpReport } from "./forwarded.ts";
import type { Outbound } from "./outbound.ts";
import type { Recording } from "./recording.ts";

/** The checks of requests and answers that a gateway is set to. */
export interface Checks {
  /** The request without the encodings in which an answer could not be checked. */
  readable(prepared: Outbound): Outbound;
  /** Masks a step before anything else sees it; null where nothing is to be masked. */
  readonly mask: ((step: Step, call: Call) => Promise<MaskedRequest>) | null;
  /** The report of what was masked in this request, wherever its answer comes from. @default nothing was masked */
  readonly masked?: DlpReport | undefined;
  /** Has a step's body pass; resolves to what was flagged. A verdict leaves a row of its own and is thrown. */
  prompt(step: Step, index: number, call: Call): Promise<DlpReport | null>;
  /**
   * Has an answer pass; `flagged` is what was flagged in its request. Rejects with `TransportError` when the answer breaks
   * off meanwhile.
   */
  reply(
    answer: InboundResponse,
    flagged: DlpReport | null,
    record: Recording,
    call: Call,
  ): Promise<PassedReply | HeldReply>;
}

/** A request with placeholders in place of what was found. */
export interface MaskedRequest {
  readonly step: Step;
  readonly checks: Checks;
  /** Puts the values back in an answer in the client's format. */
  readonly restore: (answer: InboundResponse) => InboundResponse;
}

export interface PassedReply {
  readonly answer: InboundResponse;
  readonly report: DlpReport | null;
}

/** An answer that is held back, with what it has cost all the same. */
export interface HeldReply {
  readonly error: ApiError;
  readonly cost: number | null;
}

/** Whether an error is the verdict of a check: then no other step may try the same text again. */
export function isVerdict(error: unknown): error is ApiError {
  return error instanceof ApiError && verdicts.includes(error.kind);
}

/** The errors by which checks hold a text back. */
export const verdicts: readonly string[] = [
  "prompt_blocked",
  "response_blocked",
  "request_dlp_blocked",
  "response_dlp_blocked",
  "scanner_unavailable",
];
