import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { EndpointView } from "../core/webhooks/outbound/endpoints.ts";
import { ask, askResult, eventsOf } from "./api.ts";
import { Form, useRun } from "./form.tsx";
import type { Live } from "./live.ts";
import {
  accountPath,
  Action,
  change,
  changesOf,
  instant,
  Once,
  pretty,
  Table,
  useLoaded,
  Waiting,
} from "./parts.tsx";
import { TabList } from "./tab-list.tsx";

const views = ["Inbound", "Failed", "Outbound"] as const;

interface PageProps {
  readonly facts: SessionFacts;
  readonly live: Live;
}

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

interface ViewProps extends PageProps {
  readonly root: string;
}

interface Entity {
  readonly agent: string;
  readonly entity: string;
  readonly source: string;
  readonly last_seen: string;
}

interface Counts {
  readonly received: number;
  readonly verified: number;
  readonly stored: number;
  readonly duplicates: number;
  readonly failed: number;
  readonly dead: number;
  readonly refused: Readonly<Record<string, number>>;
}

interface Stats {
  readonly counters: Readonly<Record<string, number>>;
  readonly pending: number;
  readonly dead: number;
  readonly inbound?: Readonly<Record<string, Counts>>;
}

function Inbound({ root, facts, live }: ViewProps) {
  const changed = changesOf(live, "webhooks", "agents");
  const stats = useLoaded(() => askResult<Stats>(`${root}/stats`), [changed]);
  const entities = useLoaded(
    () => askResult<readonly Entity[]>(`${root}/entities?limit=100`),
    [changed],
  );
  const [chosen, setChosen] = useState<Entity | null>(null);
  const open = chosen ?? entities.value?.[0];
  const refused = live.rows
    .filter(({ route, status }) => route.startsWith("/webhooks/") && status >= 400)
    .slice(0, 10);
  return (
    <>
      <Waiting of={stats} />
      <Table
        label="Senders"
        head={[
          "Sender",
          "Received",
          "Verified",
          "Stored",
          "Duplicates",
          "Dead",
          "Signature failures",
        ]}
        none="No sender has sent anything yet."
        rows={Object.entries(stats.value?.inbound ?? {}).map(([name, counts]) => ({
          key: name,
          cells: [
            name,
            counts.received,
            counts.verified,
            counts.stored,
            counts.duplicates,
            counts.dead,
            Object.entries(counts.refused)
              .map(([reason, count]) => `${reason}: ${count}`)
              .join(", ") || "none",
          ],
        }))}
      />
      {refused.length > 0 && (
        <section aria-labelledby="refused-title">
          <h2 id="refused-title">Refused just now</h2>
          <ul class="small">
            {refused.map((row) => (
              <li key={row.id}>
                <span class="status warn">{row.status}</span>{" "}
                {new Date(row.time).toLocaleTimeString("en-GB")} {row.reason}
              </li>
            ))}
          </ul>
        </section>
      )}
      <h2>Entities</h2>
      <Waiting of={entities} />
      <Table
        label="Entities"
        head={["Entity", "Sender", "Agent", "Last event"]}
        none="No entity yet: the first event of one makes it."
        rows={(entities.value ?? []).map((one) => ({
          key: `${one.agent}/${one.entity}/${one.source}`,
          cells: [
            <button
              type="button"
              class="link"
              aria-pressed={one === open}
              onClick={() => setChosen(one)}
            >
              {one.entity}
            </button>,
            one.source,
            one.agent,
            instant(one.last_seen),
          ],
        }))}
      />
      {open !== undefined && (
        <EntityDetails
          key={`${open.agent}/${open.entity}`}
          entity={open}
          root={root}
          facts={facts}
          changed={changed}
        />
      )}
    </>
  );
}

interface StoredEvent {
  readonly id: string;
  readonly source?: string;
  readonly type: string;
  readonly title: string;
  readonly payload: string | null;
  readonly timestamp: string;
}

interface AgentState {
  readonly state: unknown;
  readonly schedules: readonly {
    readonly id: string;
    readonly task: string;
    readonly kind: string;
    readonly due: number;
  }[];
}

function EntityDetails({
  entity,
  root,
  facts,
  changed,
}: {
  readonly entity: Entity;
  readonly root: string;
  readonly facts: SessionFacts;
  readonly changed: string;
}) {
  const query = `entity=${encodeURIComponent(entity.entity)}&agent=${encodeURIComponent(entity.agent)}`;
  const events = useLoaded(
    () => askResult<readonly StoredEvent[]>(`${root}/events?${query}&limit=20`),
    [],
  );
  const agent = useLoaded(
    () => askResult<AgentState>(`${root}/entities/state?${query}`),
    [changed],
  );
  const fresh = useEvents(
    `/agents/${encodeURIComponent(entity.agent)}/${encodeURIComponent(entity.entity)}/events`,
  );
  const known = new Set(fresh.map(({ id }) => id));
  const rows = [...fresh, ...(events.value ?? []).filter(({ id }) => !known.has(id))];
  return (
    <section class="card stack" aria-labelledby="entity-title">
      <h2 id="entity-title">{entity.entity}</h2>
      <Waiting of={agent} />
      {agent.value !== null && (
        <div class="bodies">
          <section>
            <h3>State</h3>
            <pre tabIndex={0} aria-label="State of the agent">
              {JSON.stringify(agent.value.state, null, 2)}
            </pre>
          </section>
          <section>
            <h3>Schedules</h3>
            {agent.value.schedules.length === 0 && <p class="muted">None.</p>}
            <ul>
              {agent.value.schedules.map(({ id, task, kind, due }) => (
                <li key={id}>
                  {task} ({kind}), next {new Date(due).toLocaleString("en-GB")}
                </li>
              ))}
            </ul>
          </section>
        </div>
      )}
      <h3>Events, as they come</h3>
      <Table
        label="Events"
        head={["Time", "Type", "Title", "Payload", "Again"]}
        none="No event is kept."
        rows={rows.map((one) => ({
          key: one.id,
          cells: [
            instant(one.timestamp),
            one.type,
            one.title,
            one.payload === null ? (
              "–"
            ) : (
              <details>
                <summary>Show</summary>
                <pre tabIndex={0} aria-label={`Payload of ${one.id}`}>
                  {pretty(one.payload)}
                </pre>
              </details>
            ),
            <Action
              label="Replay"
              disabled={facts.readOnly}
              onRun={() =>
                change(
                  "POST",
                  `${root}/events/${encodeURIComponent(one.id)}/replay?${query}&source=${encodeURIComponent(one.source ?? entity.source)}`,
                )
              }
            />,
          ],
        }))}
      />
    </section>
  );
}

/** Events of an agent from now on, newest first, over its stream. */
function useEvents(path: string): readonly StoredEvent[] {
  const [events, setEvents] = useState<readonly StoredEvent[]>([]);
  useEffect(() => {
    const over = new AbortController();
    const follow = async (): Promise<void> => {
      for await (const { event, data } of eventsOf(await ask(path, { signal: over.signal }))) {
        if (event !== "message") continue;
        const stored = JSON.parse(data) as StoredEvent;
        setEvents((before) =>
          [stored, ...before.filter(({ id }) => id !== stored.id)].slice(0, 50),
        );
      }
    };
    // An agent without a stream still shows what is stored.
    follow().catch(() => undefined);
    return () => over.abort();
  }, [path]);
  return events;
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

interface Delivery {
  readonly id: string;
  readonly type?: string;
  readonly endpoint_id: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly created_at: string;
}

function Outbound({ root, facts, live }: ViewProps) {
  const changed = changesOf(live, "webhooks");
  const endpoints = useLoaded(
    () => askResult<readonly EndpointView[]>(`${root}/endpoints`),
    [changed],
  );
  const [status, setStatus] = useState("");
  const deliveries = useLoaded(
    () =>
      askResult<readonly Delivery[]>(
        `${root}/deliveries?limit=50${status === "" ? "" : `&status=${status}`}`,
      ),
    [changed, status],
  );
  const [url, setUrl] = useState("");
  const [shown, setShown] = useState<string | null>(null);
  const state = useRun();
  const make = async (): Promise<void> => {
    const { secret } = await change<{ secret: string }>("POST", `${root}/endpoints`, { url });
    setShown(secret);
    setUrl("");
    endpoints.reload();
  };
  const addressOf = (id: string): string =>
    endpoints.value?.find((one) => one.id === id)?.url ?? id;
  return (
    <>
      <h2>Endpoints</h2>
      <Waiting of={endpoints} />
      {shown !== null && <Once title="Secret of the endpoint" text={shown} />}
      <Table
        label="Endpoints"
        head={["Address", "Types", "State", "Change"]}
        none="No endpoint yet: webhooks that are sent go nowhere."
        rows={(endpoints.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.url,
            one.types.length === 0 ? "all" : one.types.join(", "),
            one.enabled ? "on" : `off: ${one.disabled_reason ?? "by hand"}`,
            <span class="actions">
              <Action
                label={one.enabled ? "Turn off" : "Turn on"}
                disabled={facts.readOnly}
                onRun={async () => {
                  await change("PATCH", `${root}/endpoints/${one.id}`, { enabled: !one.enabled });
                  endpoints.reload();
                }}
              />
              <Action
                label="Delete"
                confirm="Its deliveries end."
                disabled={facts.readOnly}
                onRun={async () => {
                  await change("DELETE", `${root}/endpoints/${one.id}`);
                  endpoints.reload();
                }}
              />
            </span>,
          ],
        }))}
      />
      <div class="card">
        <Form action="Add endpoint" state={state} disabled={facts.readOnly} onRun={make}>
          <label>
            Address of the new endpoint
            <input
              required
              type="url"
              placeholder="https://app.example.com/hooks"
              value={url}
              onInput={(event) => setUrl(event.currentTarget.value)}
            />
          </label>
        </Form>
      </div>
      <h2>Deliveries</h2>
      <label class="narrow">
        Status
        <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
          <option value="">all</option>
          {["pending", "delivered", "dead", "replayed", "canceled"].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <Waiting of={deliveries} />
      <Table
        label="Deliveries"
        head={["Created", "Endpoint", "Status", "Attempts", "Last answer", "Again"]}
        none="No delivery."
        rows={(deliveries.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            instant(one.created_at),
            addressOf(one.endpoint_id),
            one.status,
            one.attempts,
            <>
              {one.last_status ?? "–"}
              {one.last_error !== null && <span class="reason">{one.last_error}</span>}
            </>,
            <Action
              label="Deliver again"
              disabled={facts.readOnly}
              onRun={() => change("POST", `${root}/deliveries/${one.id}/replay`)}
            />,
          ],
        }))}
      />
    </>
  );
}
