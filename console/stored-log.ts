import { ask, AskError, askResult } from "./api.ts";
import type { ShownLog } from "../core/gateway/observe/log/log-view.ts";
import type { GatewayRow } from "./log-query.ts";
import type { LogPage } from "./read-all.ts";
import { accountPath } from "./parts.tsx";

interface PageOptions {
  readonly account: string;
  readonly gateways: readonly string[];
  readonly query: URLSearchParams;
  /** The id before which the page begins; null for the newest. */
  readonly before: string | null;
  readonly length: number;
  readonly signal?: AbortSignal;
}

/** Reads a page of the logs of several gateways as if they were one: ids of rows sort by time. */
export async function readPage(options: PageOptions): Promise<LogPage> {
  const { gateways, length } = options;
  const parts = await Promise.all(gateways.map((gateway) => readPart(gateway, options)));
  const all = parts.flatMap(({ rows }) => rows).toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const rows = all.slice(0, length);
  const total = parts.reduce((sum, part) => sum + part.total, 0);
  return { rows, total, hasMore: total > rows.length };
}

async function readPart(
  gateway: string,
  { account, query, before, length, signal }: PageOptions,
): Promise<Pick<LogPage, "rows" | "total">> {
  const own = new URLSearchParams(query);
  if (before !== null) {
    own.append("filters.key", "id");
    own.append("filters.operator", "lt");
    own.append("filters.value", before);
  }
  own.set("per_page", String(length));
  try {
    const path = `${logsPath(account, gateway)}?${own.toString()}`;
    const response = await ask(path, signal === undefined ? {} : { signal });
    const { result, result_info: info } = (await response.json()) as {
      result: readonly ShownLog[];
      result_info: { total_count: number };
    };
    return { rows: result.map((row) => ({ ...row, gateway })), total: info.total_count };
  } catch (error) {
    // Deleted since the list of gateways was read.
    if (error instanceof AskError && error.status === 404) return { rows: [], total: 0 };
    throw error;
  }
}

/** The path of a gateway's log. */
export function logsPath(account: string, gateway: string): string {
  return `${accountPath(account)}/ai-gateway/gateways/${encodeURIComponent(gateway)}/logs`;
}

/** The kept parts of a request, and all its rows. */
export interface StoredParts {
  /** Null where nothing is kept. */
  readonly request: string | null;
  readonly response: string | null;
  /** The rows of the request in their order. */
  readonly attempts: readonly ShownLog[];
  /** The path at which it can be sent again, from the root of the server on. */
  readonly path: string;
}

/** Reads what is kept of a row's request. */
export async function readParts(row: GatewayRow, account: string): Promise<StoredParts> {
  const logs = logsPath(account, row.gateway);
  const path = `${logs}/${encodeURIComponent(row.id)}`;
  const [request, response, attempts] = await Promise.all([
    bodyAt(`${path}/request`),
    bodyAt(`${path}/response`),
    attemptsOf(row, logs),
  ]);
  const { gateway, provider } = row;
  return {
    request,
    response,
    attempts,
    path: `/v1/${account}/${gateway}/${provider}/${row.path}`,
  };
}

function attemptsOf(row: GatewayRow, logs: string): Promise<readonly ShownLog[]> {
  if (row.event_id === null) return Promise.resolve([row]);
  const query = new URLSearchParams([
    ["filters.key", "event_id"],
    ["filters.operator", "eq"],
    ["filters.value", row.event_id],
    ["order_by_direction", "asc"],
  ]);
  return askResult(`${logs}?${query.toString()}`);
}

async function bodyAt(path: string): Promise<string | null> {
  try {
    return await (await ask(path)).text();
  } catch (error) {
    if (error instanceof AskError && error.status === 404) return null;
    throw error;
  }
}

/** The row with this id, in whichever gateway's log it is. */
export async function findRow(id: string, account: string): Promise<GatewayRow> {
  for (const gateway of await readGateways(account)) {
    try {
      const path = `${logsPath(account, gateway)}/${encodeURIComponent(id)}`;
      return { ...(await askResult<ShownLog>(path)), gateway };
    } catch (error) {
      if (!(error instanceof AskError) || error.status !== 404) throw error;
    }
  }
  throw new Error(
    "This request has no log row: the gateway refused it before it asked a provider, or the row was deleted.",
  );
}

/** The names of the account's gateways. */
export async function readGateways(account: string): Promise<readonly string[]> {
  const path = `${accountPath(account)}/ai-gateway/gateways?per_page=100`;
  return (await askResult<readonly { id: string }[]>(path)).map(({ id }) => id);
}
