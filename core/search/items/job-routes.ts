import type { Context, Hono } from "hono";
import * as v from "valibot";
import { readJson } from "../../http/body.ts";
import { envelope } from "../../http/envelope.ts";
import { instanceRoots, pageInfo, pageOf, type RouteContext } from "../route-context.ts";

/** Body of `POST …/jobs`; may be left out. */
export const jobCreate: v.GenericSchema<unknown, { readonly description?: string | undefined }> =
  v.object({ description: v.optional(v.pipe(v.string(), v.maxLength(256))) });
/** Body of `PATCH …/jobs/:job_id`. */
export const jobCancel: v.GenericSchema<unknown, { readonly action: "cancel" }> = v.object({
  action: v.literal("cancel"),
});

/** Registers the sync jobs of an instance. */
export function jobRoutes(app: Hono, { options, may, instance }: RouteContext): void {
  for (const root of instanceRoots.map((one) => `${one}/:id/jobs`)) {
    app.post(root, may("AI Search Edit"), async (c) => {
      const { description } = await readJson(c, jobCreate, {
        optional: true,
        platform: options.platform,
      });
      return envelope(await instance(c).startJob(description));
    });
    app.get(root, may("AI Search Read"), async (c) => {
      const page = pageOf(c);
      const { jobs, total } = await instance(c).jobs(page.page, page.perPage);
      return envelope(jobs, { resultInfo: pageInfo(page, jobs.length, total) });
    });
    app.get(`${root}/:job_id`, may("AI Search Read"), async (c) =>
      envelope(await instance(c).job(jobId(c))),
    );
    app.patch(`${root}/:job_id`, may("AI Search Edit"), async (c) => {
      await readJson(c, jobCancel, { platform: options.platform });
      return envelope(await instance(c).cancelJob(jobId(c)));
    });
    app.get(`${root}/:job_id/logs`, may("AI Search Read"), async (c) => {
      const page = pageOf(c);
      const { logs, total } = await instance(c).jobLogs(jobId(c), page.page, page.perPage);
      return envelope(logs, { resultInfo: pageInfo(page, logs.length, total) });
    });
  }
}

function jobId(c: Context): string {
  return c.req.param("job_id") ?? "";
}
