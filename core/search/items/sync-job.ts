import { ApiError } from "../../http/api-error.ts";
import { syncItem } from "./index-item.ts";
import type { Instance } from "../instance/instance-client.ts";
import type { Job } from "./job-store.ts";
import type { SearchOptions } from "../search-deps.ts";

/** Starts a job that indexes every item again and learns the builtin vectors anew; answers at once. */
export async function startSync(
  instance: Instance,
  description: string | undefined,
  deps: SearchOptions,
): Promise<Job> {
  const { job, itemIds } = await instance.startJob(description);
  deps.platform.system.waitUntil(runSync(instance, job.id, itemIds, deps));
  return job;
}

async function runSync(
  instance: Instance,
  jobId: string,
  itemIds: readonly string[],
  deps: SearchOptions,
): Promise<void> {
  try {
    let failures = 0;
    for (const itemId of itemIds) {
      const problem = await syncOne(instance, itemId, deps);
      if (problem !== null) failures++;
      const message = problem ?? `Indexed item ${itemId}`;
      if (!(await instance.jobProgress(jobId, message, problem !== null))) return;
    }
    await instance.train();
    await instance.endJob(
      jobId,
      failures === 0 ? "completed" : `completed with ${failures} failed items`,
    );
  } catch (error) {
    deps.platform.log("warn", "A sync job failed", { job_id: jobId, error: String(error) });
    await instance.endJob(jobId, "error").catch(() => undefined);
  }
}

/** Why an item could not be indexed again; null when it could, or is gone. */
async function syncOne(
  instance: Instance,
  itemId: string,
  deps: SearchOptions,
): Promise<string | null> {
  try {
    const item = await syncItem(instance, itemId, true, deps);
    return item.status === "error" ? `Item ${itemId}: ${item.error ?? "error"}` : null;
  } catch (error) {
    if (error instanceof ApiError && error.kind === "item_not_found") return null;
    throw error;
  }
}
