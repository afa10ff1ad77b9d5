import type { Answers } from "../scripts/openapi/answers.ts";
import { useState } from "preact/hooks";
import { AccountOutbound } from "./account-outbound.tsx";
import { Applications } from "./applications.tsx";
import { askResult } from "./api.ts";
import { Inbound } from "./inbound.tsx";
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
} from "./parts.tsx";
import { Replays } from "./replays.tsx";
import { Sources } from "./sources.tsx";
import { TabList } from "./tab-list.tsx";

const views = ["Inbound", "Sources", "Failed", "Outbound", "Applications"] as const;

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
        {view === "Sources" && <Sources {...props} />}
        {view === "Failed" && <Failed {...props} />}
        {view === "Outbound" && <AccountOutbound {...props} />}
        {view === "Applications" && <Applications {...props} />}
      </div>
    </>
  );
}

type Failure = Answers["WebhookFailure"];

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
      <Table
        of={failing}
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
      <Table
        of={dead}
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
      <Replays root={root} facts={facts} changed={changed} onEnd={dead.reload} />
    </>
  );
}
