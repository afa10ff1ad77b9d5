import type { Context, Hono } from "hono";
import * as v from "valibot";
import { whilePermitted } from "../../auth/while-permitted.ts";
import { readJson } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { type ServerSentEvent, sseResponse } from "../../http/sse.ts";
import type { System } from "../../ports.ts";
import { traceparentOf } from "../../trace/trace-context.ts";
import { instanceRoots, pageInfo, pageOf, type RouteContext } from "./route-context.ts";
import type { SyncJob } from "../rows/job-store.ts";

/** Body of `POST …/jobs`; may be left out. */
export const jobCreate: v.GenericSchema<unknown, { readonly description?: string | undefined }> =
  v.object({ description: v.optional(v.pipe(v.string(), v.maxLength(256))) });
/** Body of `PATCH …/jobs/:job_id`. */
export const jobCancel: v.GenericSchema<unknown, { readonly action: "cancel" }> = v.object({
  action: v.literal("cancel"),
});

/** Registers the sync jobs of an instance. */
export function jobRoutes(app: Hono, { options, may, mayStill, instance }: RouteContext): void {
  for (const root of instanceRoots.map((one) => `${one}/:id/jobs`)) {
    app.post(root, may("AI Search Edit"), async (c) => {
      const { description } = await readJson(c, jobCreate, {
        optional: true,
        platform: options.platform,
      });
      return envelope(await instance(c).startJob(description, traceparentOf(c.req.raw)));
    });
    app.get(root, may("AI Search Read"), async (c) => {
      const page = pageOf(c);
      const { jobs, total } = await instance(c).jobs(page.page, page.perPage);
      return envelope(jobs, { resultInfo: pageInfo(page, jobs.length, total) });
    });
    app.get(`${root}/:job_id`, may("AI Search Read"), async (c) =>
      envelope(await instance(c).job(jobId(c))),
    );
    app.get(`${root}/:job_id/events`, may("AI Search Read"), async (c) => {
      const job = instance(c);
      // A missing job is a 404 instead of a stream.
      await job.job(jobId(c));
      const { system } = options.platform;
      const events = jobEvents(() => job.job(jobId(c)), system, c.req.raw.signal);
      return sseResponse(whilePermitted(events, () => mayStill("AI Search Read", c), system));
    });
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

/** Milliseconds between two looks at a job, between two signs that the stream is alive, and of a stream. */
const LOOK_MS = 500;
const ALIVE_MS = 15_000;
const STREAM_MS = 3_600_000;

/** Yields the job whenever it has changed, as `progress`, until it has ended: then as `end`. */
async function* jobEvents(
  read: () => Promise<SyncJob>,
  system: System,
  leaves: AbortSignal,
): AsyncGenerator<ServerSentEvent | string, void> {
  const signal = system.closing === undefined ? leaves : AbortSignal.any([leaves, system.closing]);
  const began = system.monotonic();
  let [shown, sentAt] = ["", began];
  while (!signal.aborted && system.monotonic() - began < STREAM_MS) {
    const job = await read();
    const data = JSON.stringify(job);
    if (job.ended_at !== undefined) return yield { event: "end", data };
    const isNews = data !== shown;
    if (isNews || system.monotonic() - sentAt > ALIVE_MS) {
      [shown, sentAt] = [data, system.monotonic()];
      yield isNews ? { event: "progress", data } : ": still running\n\n";
    }
    await system.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

function jobId(c: Context): string {
  return c.req.param("job_id") ?? "";
}
