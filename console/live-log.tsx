import { useMemo, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { RequestRow } from "../core/signals/requests/request-row.ts";
import { Choice, Field } from "./form.tsx";
import { clock, duration, size } from "./format.ts";
import { HiddenParts } from "./hidden-parts.tsx";
import { LogDetail } from "./log-detail.tsx";
import { type LogColumn, type LogEntry, LogTable } from "./log-table.tsx";
import type { PageProps } from "./parts.tsx";

/** Rows that are shown at once. */
const SHOWN = 200;

/** A filter of rows; an empty member fits all. */
interface RowFilter {
  readonly text: string;
  readonly part: string;
  /** The first digit. */
  readonly status: string;
}

/** Every request of the server as it comes, newest first. */
export function LiveLog({ live, facts }: PageProps) {
  const [filter, setFilter] = useState<RowFilter>({ text: "", part: "", status: "" });
  const [held, setHeld] = useState<readonly RequestRow[] | null>(null);
  const rows = held ?? live.rows;
  const parts = useMemo(
    () => [...new Set(live.rows.map((row) => row.part))].toSorted(),
    [live.rows],
  );
  const found = rows.filter((row) => fits(row, filter));
  return (
    <>
      <HiddenParts live={live} facts={facts} />
      <Filters
        filter={filter}
        parts={parts}
        onFilter={setFilter}
        isPaused={held !== null}
        onPause={() => setHeld(held === null ? live.rows : null)}
      />
      <p class="muted small" role="status">
        {held !== null ? "Paused. " : ""}
        {found.length === 0
          ? "No request fits."
          : `${Math.min(found.length, SHOWN)} of ${rows.length} requests`}
      </p>
      <LogTable
        title="Request"
        columns={columns}
        entries={found.slice(0, SHOWN).map((row) => entryOf(row, facts))}
      />
    </>
  );
}

const columns: readonly LogColumn[] = [
  { label: "Part", isWide: true },
  { label: "Duration", isNumber: true },
  { label: "Size", isNumber: true, isWide: true },
  { label: "Caller", isWide: true },
];

function entryOf(row: RequestRow, facts: SessionFacts): LogEntry {
  const tone = row.status >= 500 ? "bad" : row.status >= 400 ? "warn" : "good";
  return {
    key: row.id + row.time,
    time: clock(row.time),
    status: <span class={`status ${tone}`}>{row.status}</span>,
    title: `${row.method} ${row.route}`,
    reason: row.reason ?? null,
    cells: [
      row.part,
      duration(row.ms),
      size(row.bytes),
      <span class="mono">{row.caller ?? "–"}</span>,
    ],
    detail: () => <LogDetail row={row} facts={facts} />,
  };
}

/** Statuses by their first digit. */
const statuses = { "": "all", "2": "served (2xx)", "4": "refused (4xx)", "5": "failed (5xx)" };

interface FiltersProps {
  readonly filter: RowFilter;
  readonly parts: readonly string[];
  readonly onFilter: (filter: RowFilter) => void;
  readonly isPaused: boolean;
  readonly onPause: () => void;
}

function Filters({ filter, parts, onFilter, isPaused, onPause }: FiltersProps) {
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter requests"
      onSubmit={(event) => event.preventDefault()}
    >
      <Field
        label="Search"
        value={filter.text}
        input={{ type: "search", required: false, placeholder: "route, id, caller, reason" }}
        onInput={(text) => onFilter({ ...filter, text })}
      />
      <Choice
        label="Part"
        value={filter.part}
        options={{ "": "all", ...Object.fromEntries(parts.map((one) => [one, one])) }}
        onChoose={(part) => onFilter({ ...filter, part })}
      />
      <Choice
        label="Status"
        value={filter.status}
        options={statuses}
        onChoose={(status) => onFilter({ ...filter, status })}
      />
      <button type="button" aria-pressed={isPaused} onClick={onPause}>
        {isPaused ? "Resume" : "Pause"}
      </button>
    </form>
  );
}

function fits(row: RequestRow, { text, part, status }: RowFilter): boolean {
  if (part !== "" && row.part !== part) return false;
  if (status !== "" && !String(row.status).startsWith(status)) return false;
  const words = [row.route, row.id, row.caller, row.reason, row.method, row.error]
    .join(" ")
    .toLowerCase();
  return words.includes(text.trim().toLowerCase());
}
