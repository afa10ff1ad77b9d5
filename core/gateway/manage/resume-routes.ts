import { authorize } from "../../auth/authorize.ts";
import { ApiError } from "../../http/api-error.ts";
import { gatewayNameOf, MANAGEMENT_ROOT, type ManagementRoutes } from "./context.ts";
import { resumeRun } from "../answer/resume/resume-run.ts";

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
