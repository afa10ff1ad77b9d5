import { useEffect, useState } from "preact/hooks";
import type { Item, ItemStatus } from "../core/search/rows/item-record.ts";
import type { InstanceSettings } from "../core/search/state/instance-settings.ts";
import { AskSearch } from "./ask-search.tsx";
import { askResult } from "./api.ts";
import { RecordForm } from "./form.tsx";
import { size } from "./format.ts";
import { Jobs } from "./jobs.tsx";
import { Questions } from "./questions.tsx";
import { Upload } from "./upload.tsx";
import {
  accountPath,
  Action,
  change,
  changesOf,
  FactList,
  instant,
  type Loaded,
  type PageProps,
  Table,
  useLoaded,
  Waiting,
} from "./parts.tsx";

/** Items by their status. */
type Stats = Readonly<Record<ItemStatus, number>>;

/** Search instances: their items with the progress of indexing, uploads by drop, and a query to try. */
export function SearchPage({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/ai-search/instances`;
  const instances = useLoaded(
    () => askResult<readonly InstanceSettings[]>(`${root}?per_page=50`),
    [changesOf(live, "search")],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const open = instances.value?.find(({ id }) => id === chosen) ?? instances.value?.[0];
  const make = async ({ id }: { readonly id: string }): Promise<void> => {
    await change("POST", root, { id });
    setChosen(id);
    instances.reload();
  };
  return (
    <>
      <Instances instances={instances} open={open} onChoose={setChosen} />
      {open !== undefined && (
        <Details
          key={open.id}
          path={`${root}/${open.id}`}
          instance={open}
          facts={facts}
          live={live}
          onGone={instances.reload}
        />
      )}
      <section class="card" aria-labelledby="create-instance">
        <h2 id="create-instance">New instance</h2>
        <RecordForm action="Create" fields={newFields} disabled={facts.readOnly} onSave={make} />
      </section>
    </>
  );
}

const newFields = {
  id: {
    label: "Name",
    hint: "Small letters, digits, “-” and “_”",
    input: { pattern: "[a-z0-9_]+(-[a-z0-9_]+)*", maxLength: 32 },
  },
} as const;

interface InstancesProps {
  readonly instances: Loaded<readonly InstanceSettings[]>;
  readonly open: InstanceSettings | undefined;
  readonly onChoose: (id: string) => void;
}

function Instances({ instances, open, onChoose }: InstancesProps) {
  return (
    <Table
      of={instances}
      label="Instances"
      head={["Instance", "Status", "Embedder", "Chat model", "Chunks of", "Created"]}
      none="No instance yet: make one below, then drop files on it."
      rows={(instances.value ?? []).map((one) => ({
        key: one.id,
        cells: [
          <button
            type="button"
            class="link"
            aria-pressed={one.id === open?.id}
            onClick={() => onChoose(one.id)}
          >
            {one.id}
          </button>,
          one.status,
          one.embedding_model,
          one.ai_search_model || "–",
          `${one.chunk_size} tokens`,
          instant(one.created_at),
        ],
      }))}
    />
  );
}

interface DetailsProps extends PageProps {
  readonly path: string;
  readonly instance: InstanceSettings;
  readonly onGone: () => void;
}

function Details({ path, instance, facts, live, onGone }: DetailsProps) {
  const changed = changesOf(live, "search");
  const [seen, setSeen] = useState(0);
  const stats = useLoaded(() => askResult<Stats>(`${path}/stats`), [changed, seen]);
  const figures = stats.value;
  const waiting = figures === null ? 0 : figures.queued + figures.running;
  useEffect(() => {
    if (waiting === 0) return undefined;
    // Only the figures, and only while something is being indexed.
    const timer = setInterval(stats.reload, 1500);
    return () => clearInterval(timer);
  }, [waiting === 0]);
  // The list is read again when an item has changed its state.
  const items = useLoaded(
    () => askResult<readonly Item[]>(`${path}/items?per_page=50&sort_by=modified_at`),
    [changed, seen, JSON.stringify(figures)],
  );
  return (
    <section class="card stack" aria-labelledby="instance-title">
      <h2 id="instance-title">{instance.id}</h2>
      <Waiting of={stats} />
      {stats.value !== null && <Progress stats={stats.value} />}
      <Upload
        path={path}
        disabled={facts.readOnly}
        onDone={() => setSeen((before) => before + 1)}
      />
      <AskSearch path={path} waiting={waiting} />
      <Questions path={path} readOnly={facts.readOnly} changed={changed} />
      <Jobs
        path={path}
        source={instance}
        readOnly={facts.readOnly}
        changed={changed}
        onEnd={() => setSeen((before) => before + 1)}
      />
      <Items
        path={path}
        items={items}
        readOnly={facts.readOnly}
        onDelete={() => {
          items.reload();
          stats.reload();
        }}
      />
      <Action
        label="Delete instance"
        disabled={facts.readOnly}
        confirm="Its items go with it."
        onRun={async () => {
          await change("DELETE", path);
          onGone();
        }}
      />
    </section>
  );
}

interface ItemsProps {
  readonly path: string;
  readonly items: Loaded<readonly Item[]>;
  readonly readOnly: boolean;
  readonly onDelete: () => void;
}

function Items({ path, items, readOnly, onDelete }: ItemsProps) {
  return (
    <>
      <Table
        of={items}
        label="Items"
        head={["Item", "Status", "Chunks", "Size", "Uploaded", "Change"]}
        none="No item yet."
        rows={(items.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.key,
            <>
              <span
                class={`state ${one.status === "completed" ? "ready" : one.status === "error" ? "unavailable" : "failing"}`}
              >
                {one.status}
              </span>
              {one.error !== undefined && <span class="reason">{one.error}</span>}
              {(one.warnings ?? []).map((warning) => (
                <span class="reason">{"message" in warning ? warning.message : warning.code}</span>
              ))}
            </>,
            one.chunks_count ?? "–",
            <span class="nowrap">{size(one.file_size)}</span>,
            instant(one.created_at),
            <span class="actions">
              <Action
                label="Index again"
                disabled={readOnly}
                onRun={() => change("PATCH", `${path}/items/${one.id}`, { next_action: "INDEX" })}
              />
              <Action
                label="Delete"
                disabled={readOnly}
                confirm={`Delete ${one.key}?`}
                onRun={async () => {
                  await change("DELETE", `${path}/items/${one.id}`);
                  onDelete();
                }}
              />
            </span>,
          ],
        }))}
      />
    </>
  );
}

function Progress({ stats }: { readonly stats: Stats }) {
  const waiting = stats.queued + stats.running;
  const all = waiting + stats.completed + stats.error + stats.skipped;
  return (
    <div>
      <FactList
        facts={[
          ["Indexed", `${stats.completed} of ${all}`],
          ["Waiting", waiting],
          ["Failed", stats.error],
          ["Outdated", stats.outdated],
        ]}
      />
      {waiting > 0 && <progress max={all} value={all - waiting} aria-label="Items indexed" />}
    </div>
  );
}
