import { countedBatches, flushPlan, storeWithRetries } from "../metrics/counted-batches.ts";
import type { Log, System } from "../ports.ts";
import { SqlError } from "../sql/sql-error.ts";
import { isProbe, type RequestRow } from "./requests/request-row.ts";
import { addUse, type DeprecatedUse, type DeprecatedUses, usesOf } from "./deprecated-uses.ts";
import {
  accountKey,
  addRequest,
  noRequests,
  type RequestDelta,
  type RequestTotals,
  seriesKey,
} from "./requests/request-totals.ts";

/** The requests that a process hands to the actor about once a second. */
export interface RequestBatch {
  readonly source: string;
  /** Grows by one: a batch that is sent again counts once. */
  readonly sequence: number;
  readonly deltas: readonly RequestDelta[];
  readonly deprecated: readonly DeprecatedUse[];
  /** The newest requests. */
  readonly rows: readonly RequestRow[];
}

type Counted = Omit<RequestBatch, "source" | "sequence">;

/** Counts requests without delaying or failing them. */
export interface RequestCounting {
  add(row: RequestRow): void;
  /** Hands on the pending counts. */
  flush(): Promise<void>;
}

/** Requests of a batch that are listed one by one; the others are only counted. */
const ROWS = 100;
/** Accounts that are counted apart from the installation's own. */
const ACCOUNTS = 100;

/** Collects requests in memory and hands them on. */
export function requestCounting(
  { system, log }: { readonly system: System; readonly log: Log },
  store: (batch: RequestBatch) => Promise<void>,
): RequestCounting {
  const source = system.id();
  const accounts = servedAccounts();
  let sequence = 0;
  let growing = new Map<string, RequestTotals>();
  let rows = newestRows();
  let deprecated: DeprecatedUses = new Map();
  const take = (): Counted | null => {
    if (growing.size === 0) return null;
    const counted = {
      deltas: [...growing],
      deprecated: [...deprecated.values()],
      rows: rows.inOrder(),
    };
    deprecated = new Map();
    growing = new Map();
    rows = newestRows();
    return counted;
  };
  const batches = countedBatches({
    take,
    store: (number, counted) =>
      storeWithRetries(() => store({ source, sequence: number, ...counted }), system),
    nextSequence: () => ++sequence,
  });
  const plan = flushPlan(system, async () => {
    try {
      await batches.flush();
    } catch (error) {
      // The database has reported a full disk once: not again each second.
      if (!(error instanceof SqlError && error.isReported))
        log("warn", "Requests could not be counted", { error: String(error) });
    }
  });
  return {
    add(row) {
      const key = accountKey(seriesKey(row), accounts.of(row));
      let totals = growing.get(key);
      if (totals === undefined) growing.set(key, (totals = noRequests()));
      addRequest(totals, row);
      for (const use of usesOf(row)) addUse(deprecated, use);
      if (!isProbe(row)) rows.add(row);
      plan(row.time);
    },
    flush: () => batches.flush(),
  };
}

/** Counts an account apart once one of its requests was served: strangers may invent any number of accounts. */
function servedAccounts(): { of(row: RequestRow): string } {
  const served = new Set<string>();
  return {
    of({ account = "", status }) {
      if (account === "" || served.has(account)) return account;
      if (status >= 400 || served.size >= ACCOUNTS) return "";
      served.add(account);
      return account;
    },
  };
}

/** The newest of many rows, at most {@link ROWS}. */
function newestRows(): { add(row: RequestRow): void; inOrder(): RequestRow[] } {
  const rows: RequestRow[] = [];
  /** The place of the oldest, once all are taken. */
  let oldest = 0;
  return {
    add(row) {
      if (rows.length < ROWS) return void rows.push(row);
      rows[oldest] = row;
      oldest = (oldest + 1) % ROWS;
    },
    inOrder: () => [...rows.slice(oldest), ...rows.slice(0, oldest)],
  };
}
