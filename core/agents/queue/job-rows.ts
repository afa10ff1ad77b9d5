import { dueRows, type DueRows } from "../../work/due-rows.ts";

/** The queue of an instance, which attempts its jobs one after another. */
export const JOBS: DueRows = dueRows({
  table: "agents_jobs",
  key: ["agent", "id"],
  attempts: "attempt",
  leaseMs: 0,
});
