import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { InboundResponse, System } from "../../ports.ts";
import type { AbortLink } from "../call/abort-link.ts";
import { callerScope, type GatewayCaller } from "../call/caller.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { toHeadersInit } from "../wire/header-hygiene.ts";

/** An answer that goes on after its client left. */
export interface ResumableAnswer {
  readonly name: GatewayName;
  /** The callers who may take it up again, see `sharingScope`; null = all of the gateway's. */
  readonly scope: string | null;
  readonly abortLink: AbortLink;
  readonly contentType: string;
}

/** A reply whose stream can be taken up again by its id. */
export interface ResumableReply {
  readonly runId: string;
  readonly body: ReadableStream<Uint8Array>;
}

/** The streams of one process that can be taken up again. */
export interface ResumableRuns {
  /** Keeps a stream; its call is no longer ended by its client. */
  hold(source: ReadableStream<Uint8Array>, held: ResumableAnswer): ResumableReply;
  /**
   * The events of a run from number `from` on. Throws `not_found` when it is not, or no longer, kept, and
   * `invalid_request` for events that have not come.
   */
  resume(request: Resumption): InboundResponse;
}

export interface Resumption {
  readonly name: GatewayName;
  /** The scope of the caller who asks. */
  readonly scope: string | null;
  readonly runId: string;
  /** Number of whole events that the client has. */
  readonly from: number;
  readonly client: AbortSignal;
}

/** Makes the streams that can be resumed; `resumableStreams()` of `causey/gateway/resume` returns it. */
export type ResumableRunsFactory = (system: System) => ResumableRuns;

/** A request for the rest of a run, as it came. */
export interface ResumeRequest {
  readonly name: GatewayName;
  readonly caller: GatewayCaller;
  readonly runId: string;
  /** Number of whole events that the client has, as text. */
  readonly from: string | null;
  readonly signal: AbortSignal;
}

/** Returns the rest of a run. Throws `not_found` for an unknown one, `invalid_request` for an invalid `from`. */
export function resumeRun(
  { name, caller, runId, from, signal }: ResumeRequest,
  resume: ResumableRuns | undefined,
): Response {
  if (resume === undefined) {
    throw new ApiError("not_found", {
      message: "Streams of this gateway cannot be resumed: its option resume is not set",
    });
  }
  if (from === null || !/^\d{1,9}$/.test(from)) {
    throw invalidRequest(
      `from: expected the number of events that were received, got "${(from ?? "").slice(0, 32)}"`,
    );
  }
  const { headers, body } = resume.resume({
    name,
    scope: callerScope(caller),
    runId,
    from: Number(from),
    client: signal,
  });
  // A run's body is always a stream.
  return new Response(body as ReadableStream<Uint8Array>, { headers: toHeadersInit(headers) });
}
