import { authorize } from "../../../auth/authorize.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { ResumableRuns } from "./runs.ts";
import type { GatewayName } from "../../settings/gateway-name.ts";
import { toHeadersInit } from "../../wire/header-hygiene.ts";
import { gatewayNameOf, MANAGEMENT_ROOT, type ManagementRoutes } from "../../manage/context.ts";

/** What takes a run up again. */
export interface ResumeRequest {
  readonly name: GatewayName;
  readonly runId: string;
  /** Number of whole events that the client has, as text. */
  readonly from: string | null;
  readonly signal: AbortSignal;
}

/** The rest of a run. Throws `not_found` where there is none, `invalid_request` for a `from` that is no number of events. */
export function resumeRun(
  { name, runId, from, signal }: ResumeRequest,
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
    runId,
    from: Number(from),
    client: signal,
  });
  // A run's body is always a stream.
  return new Response(body as ReadableStream<Uint8Array>, { headers: toHeadersInit(headers) });
}

/** Registers the resumption of streams, for whoever may run the account's models. */
export const resumeRoutes: ManagementRoutes = (app, deps) => {
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/run/:run_id/resume`;
  app.get(path, authorize(deps.auth, "AI Gateway Run"), (c) => {
    // Hono answers HEAD as GET, without the body: it would take the run from its reader, and never read it.
    if (c.req.raw.method !== "GET") {
      throw new ApiError("method_not_allowed", { headers: { allow: "GET" } });
    }
    const runId = c.req.param("run_id");
    const from = c.req.query("from") ?? null;
    return resumeRun(
      { name: gatewayNameOf(c), runId, from, signal: c.req.raw.signal },
      deps.resume,
    );
  });
};
