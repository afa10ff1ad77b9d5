import { useMemo, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { RequestRow } from "../core/signals/requests/request-row.ts";
import { clock, duration, size } from "./format.ts";
import { HiddenParts } from "./hidden-parts.tsx";
import { LogDetail } from "./log-detail.tsx";
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

/** Every request as it comes, newest first; a row opens its details. */
export function LogsPage({ live, facts }: PageProps) {
  const [filter, setFilter] = useState<RowFilter>({ text: "", part: "", status: "" });
  const [held, setHeld] = useState<readonly RequestRow[] | null>(null);
  const [openId, setOpenId] = useState<string | null>(null);
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
      <div class="scroll" tabIndex={0} role="region" aria-label="Requests, newest first">
        <table class="log">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Status</th>
              <th scope="col">Request</th>
              <th scope="col">Part</th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Caller</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, SHOWN).map((row) => (
              <Row
                key={row.id + row.time}
                row={row}
                facts={facts}
                isOpen={openId === row.id}
                onToggle={() => setOpenId(openId === row.id ? null : row.id)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

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
      <label>
        Search
        <input
          type="search"
          value={filter.text}
          placeholder="route, id, caller, reason"
          onInput={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      <label>
        Part
        <select
          value={filter.part}
          onChange={(event) => onFilter({ ...filter, part: event.currentTarget.value })}
        >
          <option value="">all</option>
          {parts.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label>
        Status
        <select
          value={filter.status}
          onChange={(event) => onFilter({ ...filter, status: event.currentTarget.value })}
        >
          <option value="">all</option>
          <option value="2">served (2xx)</option>
          <option value="4">refused (4xx)</option>
          <option value="5">failed (5xx)</option>
        </select>
      </label>
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

interface RowProps {
  readonly row: RequestRow;
  readonly facts: SessionFacts;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Row({ row, facts, isOpen, onToggle }: RowProps) {
  const tone = row.status >= 500 ? "bad" : row.status >= 400 ? "warn" : "good";
  return (
    <>
      <tr>
        <td class="nowrap">{clock(row.time)}</td>
        <td>
          <span class={`status ${tone}`}>{row.status}</span>
        </td>
        <td>
          <button type="button" class="link" aria-expanded={isOpen} onClick={onToggle}>
            {row.method} {row.route}
          </button>
          {row.reason !== undefined && <span class="reason">{row.reason}</span>}
        </td>
        <td>{row.part}</td>
        <td class="number">{duration(row.ms)}</td>
        <td class="number">{size(row.bytes)}</td>
        <td class="mono">{row.caller ?? "–"}</td>
      </tr>
      {isOpen && (
        <tr class="detail">
          <td colSpan={7}>
            <LogDetail row={row} facts={facts} />
          </td>
        </tr>
      )}
    </>
  );
}
