import { describe, expect, it } from "vitest";
import { startJobWrites, type JobWrites } from "../../../../core/agents/handlers/job-writes.ts";
import { JOBS } from "../../../../core/agents/queue/job-rows.ts";
import type { BatchOptions, Statement, StatementResult } from "../../../../core/ports.ts";

/** Job writes whose commits are noted: the first words of their statements, and whether a power cut may undo them. */
function recorded(): { readonly commits: string[]; readonly writes: JobWrites } {
  const commits: string[] = [];
  const write = (
    statements: readonly Statement[],
    _due: number | null,
    options?: BatchOptions,
  ): Promise<StatementResult[]> => {
    const words = statements.map(({ sql }) => sql.split(" ")[0]).join("+");
    commits.push(`${words}${options?.lazy === true ? "" : " durable"}`);
    return Promise.resolve(statements.map(() => ({ rows: [], changes: 1 })));
  };
  const clock = { write } as Parameters<typeof startJobWrites>[0]["clock"];
  const context = { steady: () => 0 } as Parameters<typeof startJobWrites>[0]["context"];
  const reports = {
    write: (_clock, _ids, statements) => write(statements, 0),
  } as Parameters<typeof startJobWrites>[0]["reports"];
  return { commits, writes: startJobWrites({ clock, context, reports }) };
}

const claim = { key: ["agent", "job"], attempts: 0 };

describe("startJobWrites()", () => {
  it("stores the end of a job with the claim of the next, in one commit for each job", async () => {
    const { commits, writes } = recorded();
    for (let job = 0; job < 3; job++) {
      expect(await writes.claim(claim)).toBe(true);
      writes.end(JOBS.end(claim.key));
    }
    await writes.flush();
    await writes.flush();
    expect(commits).toEqual(["UPDATE", "DELETE+UPDATE", "DELETE+UPDATE", "DELETE"]);
  });

  it("stores it with an answer or a failure, which outlive a power cut", async () => {
    const { commits, writes } = recorded();
    writes.end(JOBS.end(claim.key));
    await writes.store({ sql: "UPDATE answer" });
    writes.end(JOBS.end(claim.key));
    await writes.report("job", [{ sql: "INSERT dead" }]);
    expect(commits).toEqual(["DELETE+UPDATE durable", "DELETE+INSERT durable"]);
  });
});
