import { useEffect } from "preact/hooks";
import type { SyncJob } from "../core/search/rows/job-store.ts";
import type { InstanceSettings } from "../core/search/state/instance-settings.ts";
import { askResult } from "./api.ts";
import { Action, change, FactList, instant, Table, useLoaded } from "./parts.tsx";

interface JobsProps {
  readonly path: string;
  /** The source of its items, beside uploads. */
  readonly source: Pick<InstanceSettings, "type" | "source" | "sync_interval" | "paused">;
  readonly readOnly: boolean;
  /** Changes when something of the instance has changed. */
  readonly changed: string;
  readonly onEnd: () => void;
}

/** The source of an instance, and its last sync jobs with their progress. */
export function Jobs({ path, source, readOnly, changed, onEnd }: JobsProps) {
  const jobs = useLoaded(
    () => askResult<readonly SyncJob[]>(`${path}/jobs?per_page=5`),
    [path, changed],
  );
  const running = jobs.value?.find((job) => job.ended_at === undefined);
  useEffect(() => {
    if (running === undefined) return undefined;
    // Only while a job runs.
    const timer = setInterval(jobs.reload, 1500);
    return () => {
      clearInterval(timer);
      onEnd();
    };
  }, [running?.id]);
  return (
    <div>
      {source.type != null && <SourceFacts source={source} />}
      <Table
        of={jobs}
        label="Sync jobs"
        head={["Began", "By", "Indexed", "Unchanged", "Failed", "Deleted", "State"]}
        none="No sync job yet."
        rows={(jobs.value ?? []).map((job) => ({
          key: job.id,
          cells: [
            instant(job.started_at),
            job.source,
            job.progress.indexed,
            job.progress.unchanged,
            job.progress.failed,
            job.progress.deleted,
            job.ended_at === undefined ? <Running job={job} /> : (job.end_reason ?? "ended"),
          ],
        }))}
      />
      <span class="actions">
        <Action
          label={source.type == null ? "Index again what needs it" : "Sync now"}
          disabled={readOnly || running !== undefined}
          onRun={async () => {
            await change("POST", `${path}/jobs`, {});
            jobs.reload();
          }}
        />
        {running !== undefined && (
          <Action
            label="Cancel job"
            disabled={readOnly}
            onRun={async () => {
              await change("PATCH", `${path}/jobs/${running.id}`, { action: "cancel" });
              jobs.reload();
            }}
          />
        )}
      </span>
    </div>
  );
}

function SourceFacts({ source }: Pick<JobsProps, "source">) {
  const { type, sync_interval: seconds, paused } = source;
  return (
    <FactList
      facts={[
        [type === "web-crawler" ? "Website" : "Bucket", source.source ?? "–"],
        ["Looked at every", seconds == null ? "–" : `${seconds / 60} minutes`],
        ["Paused", paused === true ? "yes" : "no"],
      ]}
    />
  );
}

function Running({ job: { progress } }: { readonly job: SyncJob }) {
  const done = progress.indexed + progress.unchanged + progress.failed;
  if (progress.total === null || progress.total === 0) return <>running</>;
  return <progress max={progress.total} value={done} aria-label="Entries of the source" />;
}
