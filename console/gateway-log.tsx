import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { askResult } from "./api.ts";
import { type Callers, useCallers } from "./callers.ts";
import { count, duration } from "./format.ts";
import { usd } from "./limit-text.ts";
import { LogExport } from "./log-export.tsx";
import { type GatewayRow, type LogFilter, logQuery, noFilter } from "./log-query.ts";
import { type LogColumn, type LogEntry, LogTable } from "./log-table.tsx";
import { LogFilters } from "./log-filters.tsx";
import { accountPath, type PageProps, useLoaded, Waiting } from "./parts.tsx";
import { StoredDetail } from "./stored-detail.tsx";
import type { LogPage } from "./read-all.ts";
import { readGateways, readPage } from "./stored-log.ts";

/** Rows of a page. */
const PAGE = 50;
/** Milliseconds between a change of the filters, or a new request, and the reading of a page. */
const SETTLE_MS = 250;

/** The names that the log was seen to hold. */
export interface LogNames {
  readonly gateways: readonly string[];
  readonly providers: readonly string[];
  readonly models: readonly string[];
}

/** The stored requests of all gateways: to filter, page through, export and open. */
export function GatewayLog({ facts, live }: PageProps) {
  const { account } = facts;
  const [filter, setFilter] = useState(noFilter);
  /** The ids before which the pages up to the shown one begin. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const callers = useCallers(facts);
  const { names, failure } = useNames(account);
  const before = cursors.at(-1) ?? null;
  const newest = live.rows.find(({ route }) => route.startsWith("/v1/"))?.id;
  // Only the first page changes by itself.
  const wanted = useSettled(JSON.stringify([filter, before, before === null ? newest : ""]));
  const [total, setTotal] = useState(0);
  const gateways = filter.gateway === "" ? names?.gateways : [filter.gateway];
  const query = (): URLSearchParams => logQuery(filter, Date.now(), names?.models);
  const page = useLoaded(async () => {
    if (gateways === undefined) return null;
    const options = { account, gateways, query: query(), before, length: PAGE };
    const found = await readPage(options);
    if (before === null) setTotal(found.total);
    return found;
  }, [wanted, names === null]);
  const change = (next: LogFilter): void => {
    setCursors([]);
    setFilter(next);
  };
  return (
    <>
      <LogFilters filter={filter} names={names} callers={callers} onFilter={change} />
      <Waiting of={{ ...page, error: failure ?? page.error }} />
      {page.value !== null && (
        <>
          <Found
            page={page.value}
            offset={cursors.length * PAGE}
            total={total}
            isFiltered={filter !== noFilter}
          />
          {page.value.rows.length > 0 && (
            <LogTable
              title="Model"
              columns={columns}
              entries={page.value.rows.map((row) => entryOf(row, facts, callers.nameOf))}
            />
          )}
          <div class="actions">
            <Pages page={page.value} cursors={cursors} onTurn={setCursors} />
            <LogExport account={account} gateways={gateways ?? []} query={query} />
          </div>
        </>
      )}
    </>
  );
}

interface PagesProps {
  readonly page: LogPage;
  readonly cursors: readonly string[];
  readonly onTurn: (cursors: readonly string[]) => void;
}

function Pages({ page: { rows, hasMore }, cursors, onTurn }: PagesProps) {
  return (
    <>
      <button
        type="button"
        disabled={cursors.length === 0}
        onClick={() => onTurn(cursors.slice(0, -1))}
      >
        Newer
      </button>
      <button
        type="button"
        disabled={!hasMore}
        onClick={() => onTurn([...cursors, rows.at(-1)?.id ?? ""])}
      >
        Older
      </button>
    </>
  );
}

interface FoundProps {
  readonly page: LogPage;
  /** Rows of the pages before this one. */
  readonly offset: number;
  /** All rows that fit. */
  readonly total: number;
  readonly isFiltered: boolean;
}

function Found({ page: { rows }, offset, total, isFiltered }: FoundProps) {
  return (
    <p class="muted small" role="status">
      {rows.length > 0 &&
        `${count(offset + 1)}–${count(offset + rows.length)} of ${count(total)} requests`}
      {rows.length === 0 &&
        (isFiltered
          ? "No request matches. Remove a filter, or choose a longer time."
          : "No request yet. Send one from the playground: it appears here with its tokens, cost and times.")}
    </p>
  );
}

/** The gateways, and the models and providers that were asked in the last 90 days. */
function useNames(account: string): {
  readonly names: LogNames | null;
  readonly failure: string | null;
} {
  const root = `${accountPath(account)}/ai-gateway`;
  const loaded = useLoaded(async (): Promise<LogNames> => {
    const since = new Date(Date.now() - 89 * 86_400_000).toISOString().slice(0, 10);
    const [gateways, spent] = await Promise.all([
      readGateways(account),
      askResult<{ rows: readonly { provider: string; model: string }[] }>(
        `${root}/spend?by=provider,model&since=${since}`,
      ),
    ]);
    const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].toSorted();
    return {
      gateways,
      providers: distinct(spent.rows.map(({ provider }) => provider)),
      models: distinct(spent.rows.map(({ model }) => model)),
    };
  }, [account]);
  return { names: loaded.value, failure: loaded.error };
}

/** A text once it has stayed the same for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

const columns: readonly LogColumn[] = [
  { label: "Gateway", isWide: true },
  { label: "Tokens", isNumber: true },
  { label: "Cost", isNumber: true },
  { label: "Caller", isWide: true },
  { label: "First byte", isNumber: true, isWide: true },
  { label: "Duration", isNumber: true, isWide: true },
];

function entryOf(row: GatewayRow, facts: SessionFacts, callerOf: Callers["nameOf"]): LogEntry {
  const { status_code: status, success, cached } = row;
  const isCounted = row.tokens_in !== null || row.tokens_out !== null;
  return {
    key: row.id,
    time: new Date(row.created_at).toLocaleString("en-GB"),
    status: (
      <>
        <span class={`status ${success ? "good" : "bad"}`}>{status ?? "none"}</span>
        {cached && <span class="reason">cache</span>}
      </>
    ),
    title: `${row.provider}/${row.model || row.path}`,
    reason: success ? null : row.note,
    cells: [
      row.gateway,
      isCounted ? count((row.tokens_in ?? 0) + (row.tokens_out ?? 0)) : "–",
      row.cost === undefined ? "–" : usd(row.cost),
      callerOf(row.caller),
      duration(row.first_byte),
      duration(row.duration),
    ],
    detail: () => <StoredDetail row={row} facts={facts} callerOf={callerOf} />,
  };
}
