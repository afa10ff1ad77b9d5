import type { Hono } from "hono";
import { workOwner } from "../../auth/authorize.ts";
import { answerAtMcp } from "../../mcp/mcp-endpoint.ts";
import { traceOf } from "../../trace/trace-context.ts";
import { instanceRoots, type RouteContext } from "./route-context.ts";
import { JSON_BODY_LIMIT } from "../../http/fields/body.ts";
import { withTracedModels } from "../models/traced-models.ts";
import { searchTools } from "./mcp-tools.ts";

/** Registers the endpoint of each instance for clients of the Model Context Protocol. */
export function mcpRoutes(app: Hono, { options, may, instance }: RouteContext): void {
  const bounds = { factory: "search", limit: JSON_BODY_LIMIT };
  for (const root of instanceRoots) {
    // One tool searches, the other reads a whole document.
    app.post(`${root}/:id/mcp`, may("AI Search Run"), may("AI Search Read"), (c) =>
      answerAtMcp(c, options, bounds, async (request) => {
        const found = instance(c);
        const { id } = await found.read();
        const traced = withTracedModels(options, traceOf(c.req.raw));
        return searchTools(id, found, { ...traced, owner: workOwner(c) }, request);
      }),
    );
  }
}
