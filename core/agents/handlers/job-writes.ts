import type { Statement } from "../../ports.ts";
import { isClaimed, type RowClaim } from "../../work/due-rows.ts";
import type { QueueDeps } from "../queue/queue.ts";
import { JOBS } from "../queue/job-rows.ts";

/**
 * The writes of jobs that run one after another. The end of a job waits for the claim of the next one, so that a job costs
 * one commit. A power cut may undo ends and claims, not the death of the process: then a job runs again, as after a
 * cut in its run.
 */
export interface JobWrites {
  /** Counts an attempt; resolves to whether the job is still there. */
  claim(claim: RowClaim): Promise<boolean>;
  /** Notes the end of a job. */
  end(statement: Statement): void;
  /** Stores what must outlive a power cut. */
  store(statement: Statement): Promise<void>;
  /** Stores a change of a job of which the index of all entities hears. */
  report(job: string, statements: readonly Statement[]): Promise<void>;
  /** Stores the end of the last job. */
  flush(): Promise<void>;
}

export function startJobWrites({
  clock,
  context,
  reports,
}: Pick<QueueDeps, "clock" | "context" | "reports">): JobWrites {
  let ended: Statement[] = [];
  const take = (): Statement[] => {
    const all = ended;
    ended = [];
    return all;
  };
  return {
    async claim(claim) {
      const statements = [...take(), JOBS.claim(claim, context.steady())];
      const results = await clock.write(statements, null, { lazy: true });
      return isClaimed(results.at(-1));
    },
    end: (statement) => void ended.push(statement),
    async store(statement) {
      await clock.write([...take(), statement], null);
    },
    async report(job, statements) {
      await reports.write(clock, [job], [...take(), ...statements]);
    },
    async flush() {
      if (ended.length > 0) await clock.write(take(), null, { lazy: true });
    },
  };
}
