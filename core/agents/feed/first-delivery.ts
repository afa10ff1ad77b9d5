import type { EventAnswer } from "../../entity/event.ts";
import type { Sql } from "../../ports.ts";

/** The result of an event's first delivery. */
export interface FirstDelivery {
  /** The answer that its sender got from the handler. */
  readonly answer: EventAnswer | null;
  /** The job of its handler, as long as that has not run. */
  readonly job: string | null;
}

/** Finds the first delivery of an event. */
export async function firstDelivery(
  sql: Pick<Sql, "all">,
  agent: string,
  { id, provider }: { readonly id: string; readonly provider: string },
): Promise<FirstDelivery> {
  // A job that has not run yet has the position of its event.
  const select = `SELECT e.answer, j.id AS job FROM agents_events e
    LEFT JOIN agents_jobs j ON j.agent = e.agent AND j.event_seq IS NOT NULL
      AND j.position = e.seq AND j.event_seq = e.seq
    WHERE e.agent = ? AND e.provider = ? AND e.id = ?`;
  const [row] = await sql.all(select, [agent, provider, id]);
  const answer = row?.["answer"];
  return {
    answer: typeof answer === "string" ? (JSON.parse(answer) as EventAnswer) : null,
    job: row?.["job"] == null ? null : String(row["job"]),
  };
}
