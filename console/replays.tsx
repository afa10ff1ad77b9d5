import { useEffect } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import { type FieldSpec, RecordForm } from "./form.tsx";
import { Action, change, instant, type Loaded, Table, useLoaded } from "./parts.tsx";

type Replay = Answers["EntityReplayState"];

interface ReplaysProps {
  readonly root: string;
  readonly facts: SessionFacts;
  /** Changes whenever something of the webhooks was changed. */
  readonly changed: string;
  readonly onEnd: () => void;
}

const fields = {
  of: {
    label: "Handle again",
    options: { "dead-letters": "all dead letters", events: "all events" },
  },
  since: {
    label: "Since",
    hint: "Empty: from the beginning",
    input: { type: "datetime-local", required: false },
  },
  source: { label: "Of the sender", hint: "Empty: of all", input: { required: false } },
} satisfies Record<string, FieldSpec>;

/** Replays over many entities: begun here, with their progress. */
export function Replays({ root, facts: { readOnly }, changed, onEnd }: ReplaysProps) {
  const path = `${root}/replays`;
  const replays = useLoaded(() => askResult<readonly Replay[]>(path), [path, changed]);
  const isRunning = replays.value?.some(({ status }) => status === "running") ?? false;
  useEffect(() => {
    if (!isRunning) return undefined;
    // Only while one runs.
    const timer = setInterval(replays.reload, 1500);
    return () => {
      clearInterval(timer);
      onEnd();
    };
  }, [isRunning]);
  return (
    <section class="stack" aria-labelledby="replays-title">
      <h2 id="replays-title">Replay many</h2>
      <div class="card">
        <RecordForm
          action="Replay all"
          isKept
          fields={fields}
          disabled={readOnly}
          onSave={async ({ of, since, source }) => {
            await change("POST", path, {
              of,
              ...(since === "" ? {} : { since: new Date(since).toISOString() }),
              ...(source === "" ? {} : { source }),
            });
            replays.reload();
            onEnd();
          }}
        />
      </div>
      <Progress path={path} replays={replays} readOnly={readOnly} />
    </section>
  );
}

interface ProgressProps {
  readonly path: string;
  readonly replays: Loaded<readonly Replay[]>;
  readonly readOnly: boolean;
}

function Progress({ path, replays, readOnly }: ProgressProps) {
  return (
    <Table
      of={replays}
      label="Replays"
      head={["Began", "Of", "Since", "Sender", "Progress", "Queued", "Failed", "State", "Change"]}
      none="No replay yet. With a replay, agents handle missed events again, for example after a fix."
      rows={(replays.value ?? []).map((one) => {
        const all = one.entities || 1;
        return {
          key: one.id,
          cells: [
            instant(one.created_at),
            one.of === "events" ? "events" : "dead letters",
            instant(one.since),
            one.source ?? "all",
            <progress
              max={all}
              value={one.status === "completed" ? all : one.done}
              aria-label={`${one.done} of ${one.entities} entities`}
            />,
            one.queued,
            one.failed,
            one.status,
            one.status === "running" ? (
              <Action
                label="Cancel"
                disabled={readOnly}
                onRun={async () => {
                  await change("POST", `${path}/${encodeURIComponent(one.id)}/cancel`);
                  replays.reload();
                }}
              />
            ) : (
              "–"
            ),
          ],
        };
      })}
    />
  );
}
