import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** A column of a log. */
export interface LogColumn {
  readonly label: string;
  /** @default false */
  readonly isNumber?: boolean;
  /** Left out on a phone. @default false */
  readonly isWide?: boolean;
}

/** A request of a log. */
export interface LogEntry {
  readonly key: string;
  readonly time: string;
  readonly status: ComponentChildren;
  /** The name of the request, which opens its details. */
  readonly title: string;
  /** Why it failed. */
  readonly reason: string | null;
  /** The cells of the further columns. */
  readonly cells: readonly ComponentChildren[];
  readonly detail: () => ComponentChildren;
}

interface LogTableProps {
  /** The column of the titles. */
  readonly title: string;
  /** The columns behind time, status and title. */
  readonly columns: readonly LogColumn[];
  readonly entries: readonly LogEntry[];
  /** @default "Requests, newest first" */
  readonly label?: string;
}

/** Rows with a time and a status, newest first; one of them is open at a time. */
export function LogTable({ title, columns, entries, label }: LogTableProps) {
  const [openKey, setOpenKey] = useState<string | null>(null);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label ?? "Requests, newest first"}>
      <table class="log">
        <thead>
          <tr>
            {[{ label: "Time" }, { label: "Status" }, { label: title }, ...columns].map(
              (column) => (
                <th key={column.label} scope="col" class={classOf(column)}>
                  {column.label}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <Row
              key={entry.key}
              entry={entry}
              columns={columns}
              isOpen={openKey === entry.key}
              onToggle={() => setOpenKey(openKey === entry.key ? null : entry.key)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf({ isNumber = false, isWide = false }: LogColumn): string {
  return `${isNumber ? "number" : ""} ${isWide ? "wide" : ""}`;
}

interface RowProps {
  readonly entry: LogEntry;
  readonly columns: readonly LogColumn[];
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function Row({ entry, columns, isOpen, onToggle }: RowProps) {
  return (
    <>
      <tr>
        <td class="stamp">{entry.time}</td>
        <td>{entry.status}</td>
        <td>
          <button type="button" class="link" aria-expanded={isOpen} onClick={onToggle}>
            {entry.title}
          </button>
          {entry.reason !== null && <span class="reason">{entry.reason}</span>}
        </td>
        {columns.map((column, at) => (
          <td key={column.label} class={classOf(column)}>
            {entry.cells[at]}
          </td>
        ))}
      </tr>
      {isOpen && (
        <tr class="detail">
          <td colSpan={columns.length + 3}>{entry.detail()}</td>
        </tr>
      )}
    </>
  );
}
