import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { ask, askResult, eventsOf } from "./api.ts";
import type { Live } from "./live.ts";
import {
  Action,
  change,
  changesOf,
  instant,
  pretty,
  Table,
  useLoaded,
  type ViewProps,
  Waiting,
} from "./parts.tsx";

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
  readonly inbound?: Readonly<Record<string, Counts>>;
}

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
      <Waiting of={stats} />
      <Senders counts={stats.value?.inbound ?? {}} />
      <Refused live={live} />
      <h2>Entities</h2>
      <Waiting of={entities} />
      <Entities entities={entities.value ?? []} open={open} onChoose={setChosen} />
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

function Senders({ counts: bySender }: { readonly counts: Readonly<Record<string, Counts>> }) {
  return (
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
      rows={Object.entries(bySender).map(([name, counts]) => ({
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
  readonly entities: readonly Entity[];
  readonly open: Entity | undefined;
  readonly onChoose: (entity: Entity) => void;
}

function Entities({ entities, open, onChoose }: EntitiesProps) {
  return (
    <Table
      label="Entities"
      head={["Entity", "Sender", "Agent", "Last event"]}
      none="No entity yet: the first event of one makes it."
      rows={entities.map((one) => ({
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
  const fresh = useEvents(
    `/agents/${encodeURIComponent(entity.agent)}/${encodeURIComponent(entity.entity)}/events`,
  );
  const known = new Set(fresh.map(({ id }) => id));
  const rows = [...fresh, ...(events.value ?? []).filter(({ id }) => !known.has(id))];
  return (
    <section class="card stack" aria-labelledby="entity-title">
      <h2 id="entity-title">{entity.entity}</h2>
      <Waiting of={agent} />
      {agent.value !== null && <StateOfAgent {...agent.value} />}
      <h3>Events, as they come</h3>
      <Events
        events={rows}
        readOnly={facts.readOnly}
        pathOf={({ id, source = entity.source }) =>
          `${root}/events/${encodeURIComponent(id)}/replay?${query}&source=${encodeURIComponent(source)}`
        }
      />
    </section>
  );
}

function StateOfAgent({ state, schedules }: AgentState) {
  return (
    <div class="bodies">
      <section>
        <h3>State</h3>
        <pre tabIndex={0} aria-label="State of the agent">
          {JSON.stringify(state, null, 2)}
        </pre>
      </section>
      <section>
        <h3>Schedules</h3>
        {schedules.length === 0 && <p class="muted">None.</p>}
        <ul>
          {schedules.map(({ id, task, kind, due }) => (
            <li key={id}>
              {task} ({kind}), next {new Date(due).toLocaleString("en-GB")}
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

interface EventsProps {
  readonly events: readonly StoredEvent[];
  readonly readOnly: boolean;
  /** The path that handles an event once more. */
  readonly pathOf: (event: StoredEvent) => string;
}

function Events({ events, readOnly, pathOf }: EventsProps) {
  return (
    <Table
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
