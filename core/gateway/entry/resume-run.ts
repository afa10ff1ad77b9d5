import { ApiError } from "../../http/api-error.ts";
import type { ResumableRuns } from "../resume/runs.ts";
import type { GatewayCaller } from "../call/caller.ts";
import { callerScope } from "../call/sharing-scope.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { toHeadersInit } from "../wire/header-hygiene.ts";

/** A request for the rest of a run. */
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
    throw new ApiError("invalid_request", {
      message: `from: expected the number of events that were received, got "${(from ?? "").slice(0, 32)}"`,
    });
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
