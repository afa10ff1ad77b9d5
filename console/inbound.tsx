import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { Answers } from "../scripts/openapi/answers.ts";
import { AgentDetails, type AgentState } from "./agent-details.tsx";
import { ask, askResult, eventsOf } from "./api.ts";
import type { Live } from "./live.ts";
import {
  Action,
  change,
  changesOf,
  instant,
  type Loaded,
  pretty,
  Table,
  useLoaded,
  type ViewProps,
  Waiting,
} from "./parts.tsx";

type Entity = Answers["WebhookEntity"];
type Stats = Answers["WebhookStats"];

/** The senders, and the entities that their events reach. */
export function Inbound({ root, facts, live }: ViewProps) {
  const changed = changesOf(live, "webhooks", "agents");
  const stats = useLoaded(() => askResult<Stats>(`${root}/stats`), [changed]);
  const entities = useLoaded(
    () => askResult<readonly Entity[]>(`${root}/entities?limit=100`),
    [changed],
  );
  const [chosen, setChosen] = useState<Entity | null>(null);
  const open = chosen ?? entities.value?.[0];
  return (
    <>
      <Senders stats={stats} />
      <Refused live={live} />
      <h2>Entities</h2>
      <Entities entities={entities} open={open} onChoose={setChosen} />
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

function Senders({ stats }: { readonly stats: Loaded<Stats> }) {
  return (
    <Table
      of={stats}
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
      none="Nothing has come yet. Make a source in the tab Sources, and let its sender post to /webhooks/ and the source's name."
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
  );
}

function Refused({ live }: { readonly live: Live }) {
  const refused = live.rows
    .filter(({ route, status }) => route.startsWith("/webhooks/") && status >= 400)
    .slice(0, 10);
  if (refused.length === 0) return null;
  return (
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
  );
}

interface EntitiesProps {
  readonly entities: Loaded<readonly Entity[]>;
  readonly open: Entity | undefined;
  readonly onChoose: (entity: Entity) => void;
}

function Entities({ entities, open, onChoose }: EntitiesProps) {
  return (
    <Table
      of={entities}
      label="Entities"
      head={["Entity", "Sender", "Agent", "Last event"]}
      none="No entity yet: its first event makes it."
      rows={(entities.value ?? []).map((one) => ({
        key: `${one.agent}/${one.entity}/${one.source}`,
        cells: [
          <button
            type="button"
            class="link"
            aria-pressed={one === open}
            onClick={() => onChoose(one)}
          >
            {one.entity}
          </button>,
          one.source,
          one.agent,
          instant(one.last_seen),
        ],
      }))}
    />
  );
}

type StoredEvent = Omit<Answers["WebhookEvent"], "source"> & { readonly source?: string };

interface EntityDetailsProps {
  readonly entity: Entity;
  readonly root: string;
  readonly facts: SessionFacts;
  readonly changed: string;
}

function EntityDetails({ entity, root, facts, changed }: EntityDetailsProps) {
  const query = `entity=${encodeURIComponent(entity.entity)}&agent=${encodeURIComponent(entity.agent)}`;
  const events = useLoaded(
    () => askResult<readonly StoredEvent[]>(`${root}/events?${query}&limit=20`),
    [],
  );
  const agent = useLoaded(
    () => askResult<AgentState>(`${root}/entities/state?${query}`),
    [changed],
  );
  const agentPath = `/agents/${encodeURIComponent(entity.agent)}/${encodeURIComponent(entity.entity)}`;
  const fresh = useEvents(`${agentPath}/events`);
  const known = new Set(fresh.map(({ id }) => id));
  const rows = [...fresh, ...(events.value ?? []).filter(({ id }) => !known.has(id))];
  return (
    <section class="card stack" aria-labelledby="entity-title">
      <h2 id="entity-title">{entity.entity}</h2>
      <Waiting of={agent} />
      {agent.value !== null && (
        <AgentDetails
          agent={agent.value}
          path={agentPath}
          readOnly={facts.readOnly}
          onCalled={agent.reload}
        />
      )}
      <h3>Events, as they come</h3>
      <Events
        of={events}
        events={rows}
        readOnly={facts.readOnly}
        pathOf={({ id, source = entity.source ?? "" }) =>
          `${root}/events/${encodeURIComponent(id)}/replay?${query}&source=${encodeURIComponent(source)}`
        }
      />
    </section>
  );
}

interface EventsProps {
  /** The load of the stored ones among them. */
  readonly of: Loaded<unknown>;
  readonly events: readonly StoredEvent[];
  readonly readOnly: boolean;
  /** The path that handles an event once more. */
  readonly pathOf: (event: StoredEvent) => string;
}

function Events({ of, events, readOnly, pathOf }: EventsProps) {
  return (
    <Table
      of={of}
      label="Events"
      head={["Time", "Type", "Title", "Payload", "Again"]}
      none="No event is kept."
      rows={events.map((one) => ({
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
          <Action label="Replay" disabled={readOnly} onRun={() => change("POST", pathOf(one))} />,
        ],
      }))}
    />
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
