import { useState } from "preact/hooks";
import { useRun } from "./form.tsx";
import { count } from "./format.ts";
import { csvOf } from "./log-query.ts";
import { EXPORTED, readAll } from "./read-all.ts";
import { readPage } from "./stored-log.ts";

/** Rows of one request. */
const PAGE = 100;

interface LogExportProps {
  readonly account: string;
  readonly gateways: readonly string[];
  readonly query: () => URLSearchParams;
}

/** Downloads the rows that fit the filters, without their bodies. */
export function LogExport({ account, gateways, query }: LogExportProps) {
  const state = useRun();
  const [note, setNote] = useState("");
  const save = async (format: "csv" | "json", signal: AbortSignal): Promise<void> => {
    const options = { account, gateways, query: query(), length: PAGE, signal };
    const rows = await readAll(
      (before) => readPage({ ...options, before }),
      (read) => setNote(`${count(read)} rows read`),
    );
    const [text, type] =
      format === "csv"
        ? [csvOf(rows), "text/csv;charset=utf-8"]
        : [JSON.stringify(rows, null, 2), "application/json"];
    download(new Blob([text], { type }), `gateway-log.${format}`);
    const isCut = rows.length >= EXPORTED;
    setNote(`${count(rows.length)} rows saved${isCut ? ": the newest of them" : ""}`);
  };
  const button = (label: string, format: "csv" | "json") => (
    <button
      type="button"
      disabled={state.isRunning}
      onClick={() => void state.run((signal) => save(format, signal))}
    >
      {label}
    </button>
  );
  return (
    <>
      {button("Export CSV", "csv")}
      {button("Export JSON", "json")}
      {state.isRunning && (
        <button type="button" onClick={state.stop}>
          Stop
        </button>
      )}
      <span class="muted small" role="status">
        {note}
      </span>
      {state.error !== null && (
        <span class="error" role="alert">
          {state.error}
        </span>
      )}
    </>
  );
}

/** Saves a file as if a link to it was clicked. */
function download(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
