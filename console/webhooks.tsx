import { useState } from "preact/hooks";
import { askResult } from "./api.ts";
import { Inbound } from "./inbound.tsx";
import { Outbound } from "./outbound.tsx";
import {
  accountPath,
  Action,
  change,
  changesOf,
  instant,
  type PageProps,
  Table,
  useLoaded,
  type ViewProps,
  Waiting,
} from "./parts.tsx";
import { TabList } from "./tab-list.tsx";

const views = ["Inbound", "Failed", "Outbound"] as const;

/** Webhooks that come and go, and the agents that they reach. */
export function WebhooksPage({ facts, live }: PageProps) {
  const [view, setView] = useState<(typeof views)[number]>("Inbound");
  const root = `${accountPath(facts.account)}/webhooks`;
  const props = { root, facts, live };
  return (
    <>
      <TabList label="Webhooks" names={views} chosen={view} onChoose={setView} />
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${view}`} class="stack">
        {view === "Inbound" && <Inbound {...props} />}
        {view === "Failed" && <Failed {...props} />}
        {view === "Outbound" && <Outbound {...props} />}
      </div>
    </>
  );
}

interface Failure {
  readonly id: string;
  readonly agent: string;
  readonly entity: string;
  readonly source: string | null;
  readonly error: string | null;
  readonly attempts: number;
  readonly failed_at: string | null;
  readonly next_at?: string | null;
}

function Failed({ root, facts, live }: ViewProps) {
  const changed = changesOf(live, "webhooks", "agents");
  const failing = useLoaded(
    () => askResult<readonly Failure[]>(`${root}/failures?limit=100`),
    [changed],
  );
  const dead = useLoaded(
    () => askResult<readonly Failure[]>(`${root}/dead-letters?limit=100`),
    [changed],
  );
  const replay = async ({ id, entity, agent, source }: Failure): Promise<void> => {
    const query = new URLSearchParams({ entity, agent, ...(source === null ? {} : { source }) });
    await change(
      "POST",
      `${root}/dead-letters/${encodeURIComponent(id)}/replay?${query.toString()}`,
    );
    dead.reload();
  };
  return (
    <>
      <h2>Trying again</h2>
      <Waiting of={failing} />
      <Table
        label="Events that failed and are tried again"
        head={["Entity", "Error", "Attempts", "Failed", "Next"]}
        none="Nothing is waiting to be tried again."
        rows={(failing.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.entity,
            one.error ?? "–",
            one.attempts,
            instant(one.failed_at),
            instant(one.next_at),
          ],
        }))}
      />
      <h2>Dead letters</h2>
      <Waiting of={dead} />
      <Table
        label="Dead letters"
        head={["Entity", "Sender", "Error", "Attempts", "Given up", "Again"]}
        none="No dead letter: every event was handled."
        rows={(dead.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.entity,
            one.source ?? "–",
            one.error ?? "–",
            one.attempts,
            instant(one.failed_at),
            <Action label="Replay" disabled={facts.readOnly} onRun={() => replay(one)} />,
          ],
        }))}
      />
    </>
  );
}
