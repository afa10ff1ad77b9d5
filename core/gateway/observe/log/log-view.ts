import type { SqlRow } from "../../../ports.ts";

/** A row of a gateway's log, as the API shows it. */
export interface ShownLog {
  readonly id: string;
  readonly created_at: string;
  readonly provider: string;
  readonly model: string;
  readonly path: string;
  readonly status_code?: number;
  readonly success: boolean;
  readonly cached: boolean;
  /** Milliseconds. */
  readonly duration: number;
  /** Milliseconds; null where no byte of an answer came. */
  readonly first_byte: number | null;
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  /** US dollars. */
  readonly cost?: number;
  readonly custom_cost: boolean;
  readonly step: number;
  readonly event_id: string | null;
  readonly user_agent: string | null;
  readonly authentication: boolean;
  readonly caller: string | null;
  readonly dropped: string | null;
  readonly note: string | null;
  readonly dlp_action: string | null;
  readonly feedback: number | null;
  readonly score: number | null;
  /** JSON text. */
  readonly metadata?: string;
  readonly model_type?: string;
  readonly request_content_type?: string;
  readonly request_type?: string;
  readonly response_content_type?: string;
}

/** Members that a row lacks rather than has null: the official client's types know no null there. */
const OPTIONAL: readonly (keyof ShownLog)[] = [
  "cost",
  "metadata",
  "model_type",
  "request_content_type",
  "request_type",
  "response_content_type",
  "status_code",
];

/** Returns a stored row as the management API shows it. */
export function logView(row: SqlRow): Partial<Record<keyof ShownLog, unknown>> {
  const view: Partial<Record<keyof ShownLog, unknown>> = {
    id: row["id"],
    created_at: new Date(Number(row["created_at"])).toISOString(),
    provider: row["provider"],
    model: row["model"],
    path: row["path"],
    success: row["success"] === 1,
    cached: row["cached"] === 1,
    duration: row["duration"],
    first_byte: row["first_byte"],
    tokens_in: row["tokens_in"],
    tokens_out: row["tokens_out"],
    custom_cost: row["custom_cost"] === 1,
    step: row["step"],
    event_id: row["event_id"],
    user_agent: row["user_agent"],
    authentication: row["authentication"] === 1,
    caller: row["caller"],
    dropped: row["dropped"],
    note: row["note"],
    dlp_action: row["dlp_action"],
    feedback: row["feedback"],
    score: row["score"],
  };
  for (const name of OPTIONAL) if (row[name] !== null) view[name] = row[name];
  return view;
}

/** Characters of each body in a single row's answer; `…/request` and `…/response` have all that is kept. */
const HEAD = 4096;

/** Returns a single row, with the beginning of both bodies. */
export function logDetail(row: SqlRow): Record<string, unknown> {
  return { ...logView(row), ...head(row, "request"), ...head(row, "response") };
}

function head(row: SqlRow, side: "request" | "response"): Record<string, unknown> {
  const text = String(row[side] ?? "");
  return {
    [`${side}_head`]: text.slice(0, HEAD),
    [`${side}_head_complete`]: row[`${side}_complete`] === 1 && text.length <= HEAD,
    [`${side}_size`]: row[`${side}_size`],
  };
}
