import { ApiError } from "../../http/api-error.ts";
import type { Statement } from "../../ports.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { startJob } from "../rows/job-store.ts";
import { dropWork, enqueue, postpone, type QueueOwner, type Work } from "../state/work-rows.ts";

/** The id of the row that begins the jobs of an instance's schedule: no item and no job has it. */
const SCHEDULE = "schedule";
/** Milliseconds after which a job is begun that another one kept from it. */
const BUSY_MS = 30_000;

/** Begins the next sync job of a schedule; where another job has just begun, or runs still, a little later. */
export async function runSchedule(state: InstanceState, work: Work): Promise<void> {
  const { sync_interval: seconds } = state.facts().settings;
  if (seconds == null)
    return void (await state.context.sql.batch([dropWork(state.actor, work.id)]));
  const wait = await state
    .inTurn(() => startJob(state, undefined, "schedule"))
    .then(
      () => seconds * 1000,
      (error: unknown) => {
        if (error instanceof ApiError && error.status === 429) return BUSY_MS;
        throw error;
      },
    );
  const due = state.context.steady() + wait;
  await state.clock.write([postpone(state.actor, work, due)], due);
}

/** Returns the statements that set the schedule of an instance to its settings; a new source is looked at at once. */
export function scheduleStatements(
  owner: QueueOwner,
  settings: InstanceSettings,
  old: InstanceSettings | null,
): Statement[] {
  const { sync_interval: seconds } = settings;
  const isSame = JSON.stringify(sourceFields(settings)) === JSON.stringify(sourceFields(old));
  if (seconds == null) return old?.sync_interval == null ? [] : [dropWork(owner.actor, SCHEDULE)];
  if (isSame && seconds === old?.sync_interval) return [];
  const work = { id: SCHEDULE, stage: "schedule", revision: 0 } as const;
  return [enqueue(owner, work, false, isSame ? seconds * 1000 : 0)];
}

function sourceFields(settings: InstanceSettings | null): readonly unknown[] {
  const {
    type,
    source,
    source_params: params,
    token_id: token,
    sealed_headers: headers,
  } = settings ?? {};
  return [type, source, params, token, headers ?? null];
}
